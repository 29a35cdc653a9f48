"""A small real environment to learn from: the desk of a library. Nothing of the learner knows it."""

from __future__ import annotations

import json
import random
from typing import Any

from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec

BOOKS = {
    f"b{n:02d}": {"isbn": f"b{n:02d}", "title": f"Book {n}", "copies": n % 3, "fee_per_day": 2 + n % 5}
    for n in range(12)
}
MEMBERS = {
    f"member_{n}": {"name": f"Reader {n}", "branch": ["north", "south"][n % 2], "balance": 7 * n, "loans": []}
    for n in range(8)
}


class LibraryDesk:
    """Members, books and loans; every answer follows from them."""

    def __init__(self) -> None:
        self.books = json.loads(json.dumps(BOOKS))
        self.members = json.loads(json.dumps(MEMBERS))
        self.loans: dict[str, dict[str, Any]] = {}

    def call(self, tool: str, args: dict[str, Any]) -> str:
        """Answer as text; an error begins with `Error`."""
        result = getattr(self, tool)(**args)
        return result if isinstance(result, str) else json.dumps(result)

    def get_book(self, isbn: str) -> Any:
        return self.books.get(isbn) or f"Error: no book {isbn}"

    def get_member(self, member_id: str) -> Any:
        return self.members.get(member_id) or "Error: member not found"

    def list_branches(self) -> Any:
        return ["north", "south"]

    def quote(self, days: int, fee: int) -> str:
        return f"{days} days at {fee} make {days * fee}"

    def get_loan(self, loan_id: str) -> Any:
        return self.loans.get(loan_id) or f"Error: no loan {loan_id}"

    def lend_book(self, member_id: str, isbn: str, days: int) -> Any:
        book, member = self.books[isbn], self.members[member_id]
        if book["copies"] == 0:
            return f"Error: no copy of {isbn} is left"
        price = days * book["fee_per_day"]
        if price > member["balance"]:
            return f"Error: the loan costs {price}, the balance is {member['balance']}"
        loan = {
            "loan_id": f"L{100 + len(self.loans)}",
            "member_id": member_id,
            "isbn": isbn,
            "title": book["title"],
            "days": days,
            "price": price,
            "branch": member["branch"],
            "history": [],
            "status": "open",
        }
        self.loans[loan["loan_id"]] = loan
        return loan

    def extend_loan(self, loan_id: str, days: int) -> Any:
        loan = self.loans.get(loan_id)
        if loan is None:
            return f"Error: no loan {loan_id}"
        loan = {**loan, "days": loan["days"] + days, "history": [*loan["history"], {"kind": "extended", "days": days}]}
        self.loans[loan_id] = loan
        return loan

    def return_book(self, loan_id: str) -> Any:
        loan = self.loans.get(loan_id)
        if loan is None:
            return f"Error: no loan {loan_id}"
        self.loans[loan_id] = {**loan, "status": "returned"}
        return self.loans[loan_id]


def session(seed: int, length: int = 14) -> Trajectory:
    """Record a session of random calls that make sense more often than not."""
    rng, desk, turns = random.Random(seed), LibraryDesk(), []
    for _ in range(length):
        member, isbn = rng.choice(list(MEMBERS)), rng.choice(list(BOOKS))
        loan = rng.choice([*desk.loans, *desk.loans, f"L{rng.randint(900, 999)}"])
        tool, args = rng.choice(
            [
                ("get_book", {"isbn": isbn}),
                ("get_member", {"member_id": member}),
                ("lend_book", {"member_id": member, "isbn": isbn, "days": rng.randint(1, 6)}),
                ("lend_book", {"member_id": member, "isbn": isbn, "days": rng.randint(1, 6)}),
                ("extend_loan", {"loan_id": loan, "days": rng.randint(1, 5)}),
                ("return_book", {"loan_id": loan}),
                ("get_loan", {"loan_id": loan}),
                ("quote", {"days": rng.randint(1, 9), "fee": rng.randint(1, 9)}),
                ("list_branches", {}),
            ]
        )
        text = desk.call(tool, dict(args))
        seen = Observation.from_text(text, is_error=text.startswith("Error"))
        turns.append(Turn(action=Action(name=tool, arguments=args), observation=seen))
    return Trajectory(
        source=Source.OBSERVED, world=WorldSpec(domain="mcp"), turns=tuple(turns), family=f"desk-{seed % 10}"
    )
