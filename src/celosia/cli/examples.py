"""The examples at the end of every ``--help``.

Each is a command line that can be typed; the tests hold all of them to the commands and options that there are.
"""

from typing import Final

import click

_RUN = "--records 1000 --step-size 0.1 --lipschitz 1 --smoothness 1 --sigma 2 --delta 1e-6"

EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "demo": ("celosia demo", "celosia demo --epsilon 0.1 --output somewhere", "celosia demo --no-output --seed 7"),
    "schema": (
        "celosia schema deaths.parquet --output schema.toml",
        "celosia schema deaths.csv --no-input",
        "celosia schema deaths.csv --check schema.toml",
        "celosia schema postgresql://localhost/registry --table deaths",
    ),
    "query": (
        "celosia query deaths.csv 'SELECT sex, AVG(age) FROM deaths GROUP BY sex' --schema schema.toml --epsilon 0.5",
        "celosia query deaths.csv 'SELECT COUNT(*) FROM deaths' --schema schema.toml --epsilon 1 --error 50 --preview",
        "celosia query deaths.csv 'SELECT COUNT(*) FROM deaths' --schema schema.toml --rho 0.1 --csv counts.csv",
    ),
    "limits": (
        "celosia limits visits.parquet --schema schema.toml --by sex --epsilon 0.5",
        "celosia limits visits.parquet --schema schema.toml --epsilon 0.5 --chart limits.svg",
    ),
    "account gaussian": (
        "celosia account gaussian --sigma 1 --sampling 0.01 --times 10000 --delta 1e-5",
        "celosia account gaussian --sigma 4 --sample-size 100 --population 10000 --delta 1e-6 --json",
    ),
    "account laplace": (
        "celosia account laplace --epsilon 0.1 --times 1000 --delta 1e-5",
        "celosia account laplace --epsilon 0.1 --delta 1e-5 --grid 1",
    ),
    "account randomized-response": ("celosia account randomized-response --epsilon 1 --delta 1e-6 --categories 4",),
    "account exponential": ("celosia account exponential --epsilon 0.5 --times 20 --delta 1e-6",),
    "account pure": ("celosia account pure --epsilon 0.1 --times 100 --delta 1e-6",),
    "account shuffle": ("celosia account shuffle --epsilon 1 --reports 10000 --delta 1e-6",),
    "account event": ("celosia account event run.json --delta 1e-6",),
    "account game": ("celosia account game --epsilon 1", "celosia account game --epsilon 1 --delta 1e-6 --prior 0.1"),
    "account presets": ("celosia account presets --persons 30000",),
    "account iteration": (f"celosia account iteration {_RUN}",),
    "account calibrate gaussian": (
        "celosia account calibrate gaussian --epsilon 2 --delta 1e-5 --sampling 0.01 --times 10000",
    ),
    "account calibrate laplace": ("celosia account calibrate laplace --epsilon 1 --delta 1e-6 --times 100",),
    "account plot budget": ("celosia account plot budget gaussian --parameter 1/2 --parameter 4 --chart budget.png",),
    "account plot profile": (
        "celosia account plot profile laplace --epsilon 0.1 --times 1000 --chart profile.png",
        "celosia account plot profile event --file run.json --chart profile.svg",
    ),
    "account plot growth": (
        "celosia account plot growth gaussian --sigma 1 --sampling 0.01 --times 10000 --delta 1e-5 --chart growth.html",
    ),
    "account plot trade-off": ("celosia account plot trade-off --epsilon 1 --mu 1 --chart trade-off.svg",),
    "account plot iteration": (f"celosia account plot iteration {_RUN} --chart iteration.svg",),
    "ledger budget": (
        "celosia ledger budget sqlite:///budget.db --dataset deaths --epsilon 3 --delta 1e-6",
        "celosia ledger budget sqlite:///budget.db --dataset deaths --preset usual --persons 30000",
    ),
    "ledger show": ("celosia ledger show sqlite:///budget.db", "celosia ledger show sqlite:///budget.db --json"),
    "ledger verify": ("celosia ledger verify sqlite:///budget.db",),
    "ledger export": ("celosia ledger export sqlite:///budget.db --output log.jsonl",),
    "ledger head": ("celosia ledger head sqlite:///budget.db",),
    "guard init": ("celosia guard init /srv/guard", "celosia guard init --host 0.0.0.0 --port 8080 --behind-proxy"),
    "guard serve": ("celosia guard serve --config /srv/guard/guard.toml",),
    "guard log": ("celosia guard log --user ana --since 2026-01-01", "celosia guard log --format csv"),
    "guard verify": ("celosia guard verify",),
    "guard user add": ("celosia guard user add ana --role analyst --days 90",),
    "guard user key": ("celosia guard user key ana --days 90",),
    "guard user list": ("celosia guard user list",),
    "guard user revoke": ("celosia guard user revoke ana",),
    "guard dataset add": (
        "celosia guard dataset add deaths deaths.parquet --schema schema.toml",
        "celosia guard dataset add deaths deaths.csv --schema schema.toml --public codes.csv --key cause",
    ),
    "guard dataset list": ("celosia guard dataset list",),
    "guard dataset show": ("celosia guard dataset show deaths",),
    "guard dataset check": ("celosia guard dataset check",),
    "guard dataset version": ("celosia guard dataset version deaths --yes",),
    "guard dataset update": ("celosia guard dataset update deaths --source deaths-2027.parquet --schema schema.toml",),
    "guard dataset retire": ("celosia guard dataset retire deaths",),
    "guard dataset restore": ("celosia guard dataset restore deaths",),
    "guard dataset share": ("celosia guard dataset share deaths --analyst ana --analyst luis",),
    "guard budget set": (
        "celosia guard budget set --dataset deaths --epsilon 3 --delta 1e-6",
        "celosia guard budget set --dataset deaths --analyst ana --epsilon 1 --window-days 30 --window-epsilon 0.1",
    ),
    "guard budget show": ("celosia guard budget show --dataset deaths",),
    "guard approval list": ("celosia guard approval list --state pending",),
    "guard approval grant": ("celosia guard approval grant 0123456789ab",),
    "guard approval deny": ("celosia guard approval deny 0123456789ab --reason 'A tenth of it is enough.'",),
    "data list": ("celosia data list",),
    "data survey": ("celosia data survey --households 500 --output survey.csv",),
    "data dummy": ("celosia data dummy schema.toml --rows 500 --output dummy.parquet",),
    "data generate": ("celosia data generate exp_distrib_50k --output values.parquet",),
    "collect simulate": (
        "celosia collect simulate --protocol hcms --epsilon 2 --data values.csv --column value",
        "celosia collect simulate --protocol hybrid --epsilon 0.5,1,2 --low 0 --high 24 --data hours.csv --chart e.svg",
        "celosia collect simulate --protocol sfp --epsilon 8 --data anglicismo_50k --top 30 --csv words.csv",
    ),
    "collect choose": ("celosia collect choose --domain 1000 --epsilon 1 --bits 16",),
    "collect protocols": ("celosia collect protocols",),
    "learn fit": (
        "celosia learn fit sick.csv --model logistic --target diabetes --schema s.toml --epsilon 1 --output model.json",
    ),
    "learn predict": ("celosia learn predict model.json new.csv --output predictions.csv",),
    "learn card": ("celosia learn card model.json --html --output card.html",),
    "learn models": ("celosia learn models",),
    "anonymity plan": (
        "celosia anonymity plan survey.sav --quasi-identifier age --quasi-identifier sex --sensitive pay --k 5",
        "celosia anonymity plan visits.csv --identifier name --quasi-identifier age --sensitive illness --output plan.toml",
    ),
    "anonymity apply": (
        "celosia anonymity apply plan.toml --output release.csv",
        "celosia anonymity apply plan.toml --output release.sav --log log.json --force",
    ),
    "anonymity measure": (
        "celosia anonymity measure plan.toml",
        "celosia anonymity measure plan.toml --released release.csv --json",
    ),
    "anonymity risk": ("celosia anonymity risk plan.toml --threshold 0.05 --special-uniques 3",),
    "anonymity report": ("celosia anonymity report plan.toml --inside inside.html --outside outside.html",),
    "anonymity attack": (
        "celosia anonymity attack plan.toml",
        "celosia anonymity attack plan.toml --register voters.csv --identity name --last-year release-2025.csv",
    ),
    "federated simulate": (
        "celosia federated simulate --data debt --epsilon 0.1,0.3,1,3 --chart error.svg",
        "celosia federated simulate --data synthetic --method sgd --rounds 30 --repeat 3 --seed 7 --json",
        "celosia federated simulate --data v.csv --party clinic --target cost --bounds 0,120 --target-bounds 0,9000",
    ),
    "federated init": (
        "celosia federated init trial --party north --party south",
        "celosia federated init trial --certificates --host fed.example.org",
    ),
    "federated serve": ("celosia federated serve trial --output model.json",),
    "federated join": ("celosia federated join north trial --data north.csv",),
    "federated run": (
        "celosia federated run trial --data north=north.csv --data south=south.csv --output model.json --in-process",
    ),
}
"""Command lines by the command that they show, the most usual first."""

_MAX_GROUP_EXAMPLES = 3


def add_examples(command: click.Command, path: str) -> click.Command:
    """Add the examples of a command to its help; a group shows some examples of its commands."""
    own = EXAMPLES.get(path, ())
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            add_examples(one, f"{path} {name}")
        own = tuple(lines[0] for name, lines in EXAMPLES.items() if name.startswith(f"{path} "))[:_MAX_GROUP_EXAMPLES]
    title = "Example: " if len(own) == 1 else "Examples:\n\n"
    command.epilog = title + "\n\n".join(own)
    return command
