"""The command `vrba`: the class of each command, and one line of help.

A class is imported when its command is called, so `vrba --help` is fast.
"""

COMMANDS = {
    "solve": ("solve:Solve", "Solve a differential equation by name or from FILE.py."),
    "train": ("train:Train", "Train a neural operator on pairs of functions."),
    "compare": ("compare:Compare", "Compare policies on equal budgets and seeds."),
    "report": ("report:Report", "Write an HTML page with the figures of a run."),
    "watch": ("report:Watch", "Show the curves of a run while it trains elsewhere."),
    "data": ("data:Data", "Generate operator training data, or describe a file."),
    "list": ("list:List", "List problems, policies, potentials, optimizers and more."),
    "reproduce": ("reproduce:Reproduce", "Reproduce a table or figure of the paper."),
}
