"""A lecture on the pebble game: the page to play, boards and pictures to show, plays to grade.

    python examples/teaching_a_lecture.py --folder lecture

writes into a folder what an hour needs: `lecture.html`, three levels of which one is your own;
`flash.png`, what FlashAttention and the standard order do over time; `flash.gif`; and `grades.csv`
for the traces that the class handed in, here two made up.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from lab import play, widget
from lab.animation import animate
from lab.history import record
from lab.page.assembly import write_page
from lab.page.grading import grade, write_grades
from lab.page.levels import find_level, read_level
from lab.page.pars import par_of, solved
from lab.sources import of_strategy
from lab.spacetime import sheet
from lab.terminal.board import LEGEND, Board
from pebble import Game

#: A level of your own is a few lines: a graph, M, what to do. Its par is searched for.
HOMEWORK = {
    "format": "pebble-level 1",
    "title": "Homework: a dot product",
    "goal": "Make s blue, with as little traffic as you can.",
    "text": ["The sum of three products. **Three pebbles** are enough, if you are careful."],
    "edges": ["a x -> p", "b y -> q", "p q -> r", "c z -> t", "r t -> s"],
    "memory": 3,
}


def main() -> None:
    """Prepare the lecture, step by step."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("lecture"))
    parser.add_argument("--stills", type=int, default=60, help="of the film")
    given = parser.parse_args()
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)

    # 1. The page: two lessons of the course, and the homework with the par that the search proves.
    path = folder / "homework.json"
    path.write_text(json.dumps(HOMEWORK, indent=1), encoding="utf-8")
    homework = solved(read_level(path))
    levels = [find_level("first-steps"), find_level("recompute"), homework]
    write_page(folder / "lecture.html", levels)
    print(f"the homework has {par_of(homework)}")

    # 2. At the blackboard: a position as text, and why a move is not legal.
    game = Game(homework.dag, homework.memory)
    for move in ("L a", "L x", "C p", "D a", "D x"):
        game.push(move)
    print(Board(homework.dag).text(game))
    print(LEGEND)
    print(game.explain("C r"))

    # 3. On the screen: two schedules over time, and one as a film.
    plays = [
        of_strategy("attention-forward:n=16,d=4", strategy, 64)
        for strategy in ("standard", "flash")
    ]
    sheet([record(source) for source in plays]).savefig(folder / "flash.png", dpi=100)
    animate(plays[1], folder / "flash.gif", most=given.stills, seconds=12)

    # 4. In a notebook the same level is played in place: `widget(homework)` as a cell's last line.
    notebook = widget(homework)._repr_html_()
    print(f"the widget is one frame of {len(notebook) // 1000} kB, with nothing to install")

    # 5. Grading: every trace is refereed; what its header claims is not believed.
    play(homework.workload, "lru", 3, trace=folder / "ada.txt")
    (folder / "bob.txt").write_text("L a\nL x\nC p\nL b\nC q\n", encoding="utf-8")
    grades = grade([folder / "ada.txt", folder / "bob.txt"], homework)
    for row in grades:
        shown = f"I/O {row.io}, {row.above_par} above par" if row.legal else row.reason
        print(f"{Path(row.file).name}: {shown}")
    write_grades(folder / "grades.csv", grades)
    print(f"wrote {', '.join(sorted(file.name for file in folder.iterdir()))}")


if __name__ == "__main__":
    main()
