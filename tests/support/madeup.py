"""Made-up secrets, put together while a test runs, so that no scanner finds one in this repository."""

import base64
import hashlib


def made(count: int, letters: str = "a") -> str:
    """Characters that look drawn: of hex, capitals, digits, base32, base64 or `a`lphanumeric."""
    alphabet = {
        "x": "0123456789abcdef",
        "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "0": "0123456789",
        "b": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "a": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    }[letters]
    drawn = hashlib.shake_256(f"{count}{letters}".encode()).digest(count)
    return "".join(alphabet[byte % len(alphabet)] for byte in drawn)


def basic(pair: str) -> str:
    return base64.b64encode(pair.encode()).decode()


def pem(kind: str, lines: int = 4, between: str = "\n") -> str:
    dashes = "-" * 5
    body = [made(64, "b") for _ in range(lines - 1)] + [made(28, "b") + "=="]
    return between.join([f"{dashes}BEGIN {kind}{dashes}", *body, f"{dashes}END {kind}{dashes}"])


JWT = ".".join(["eyJ" + made(33), "eyJ" + made(60), made(43)])
ROTATED = "hunt" + "er2x"
SYMBOLS = "Tr0ub4" + "dor&3!x"
