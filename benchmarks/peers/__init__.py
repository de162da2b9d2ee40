"""The same problems, networks and minutes in other packages and in this one.

`python -m benchmarks.peers --problems burgers,allen-cahn --minutes 20 --seed 0`
"""

IS_LONG = True
