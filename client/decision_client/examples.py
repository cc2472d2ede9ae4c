"""The built-in example requests, and the answers that the documentation's examples read."""

from __future__ import annotations

import json

from decision_client.decisions import Decision, Option
from decision_client.questions import ChoiceQuestion, NoulQuestion, Question, ScoreQuestion

_SIGN_IN = "The customer cannot sign in."

EXAMPLE_DECISION = Decision(
    id="support-route",
    state=_SIGN_IN,
    question="Which queue should handle this request?",
    options=(Option("account-access", "Account access support."), Option("billing", "Billing support.")),
)

EXAMPLE_STATE = "I was charged twice."

EXAMPLE_QUESTIONS: dict[str, Question] = {
    "refund": NoulQuestion("Does the customer want money back?"),
    "team": ChoiceQuestion({"billing": "Payments.", "other": None}, "Who should handle it?"),
    "anger": ScoreQuestion(["Calm", "Annoyed", "Angry"]),
}

_MODEL = {"name": "model", "file": "model.gguf", "bytes": 98_000_000, "sha256": "b1" * 32, "architecture": "llama"}
_STATUS = "conditional on the options given, uncalibrated"

SAMPLE_ANSWER = json.dumps(
    {
        "result": {
            "id": "support-route",
            "option_ids": ["account-access", "billing"],
            "probabilities": [0.75, 0.25],
            "option_logits": [12.0, 10.9],
            "answer_token_ids": [330, 347],
            "input_tokens": 118,
            "allowed_token_mass": 0.9,
            "full_vocab_argmax_id": 330,
            "prompt_sha256": "5f" * 32,
            "prompt_version": "1",
            "model": {**_MODEL, "threads": 2},
            "readout": "final logits at the answer slots",
            "probability_status": _STATUS,
            "forward_seconds": 0.3,
            "total_seconds": 0.4,
        }
    }
).encode()

SAMPLE_ANSWERS = json.dumps(
    {
        "model": "model",
        "answers": {
            "refund": {"type": "noul", "noul": 0.75},
            "team": {
                "type": "choice",
                "choice": "billing",
                "probabilities": {"billing": 0.875, "other": 0.125},
                "confidence": 0.75,
            },
            "anger": {
                "type": "score",
                "score": 1.25,
                "legend": {"0": "Calm", "1": "Annoyed", "2": "Angry"},
                "probabilities": {"0": 0.125, "1": 0.5, "2": 0.375},
                "confidence": 0.25,
            },
        },
        "usage": {"input_tokens": 239, "output_tokens": 0},
        "x_provenance": {
            "model": _MODEL,
            "engine": {"build": "b11549", "backend": "CPU", "device": "CPU", "threads": 2, "gpu_layers": 0},
            "prompt": {"profile": "default", "version": "1"},
            "timing": {"queue_ms": 1.0, "prefix_ms": 200.0, "suffix_ms": 150.0, "total_ms": 400.0},
            "tokens": {"prefix": 90, "cached": 0},
            "answers": {
                name: {
                    "prompt_sha256": "5f" * 32,
                    "slot_mass": 0.9,
                    "input_tokens": 118,
                    "permutations": 1,
                    "temperature": 1.0,
                    "probability_status": _STATUS,
                }
                for name in EXAMPLE_QUESTIONS
            },
        },
    }
).encode()


class Sample:
    """A transport that sends nothing and gives the sample answers."""

    title = "the sample"
    address = "sample"

    def send(self, body: bytes, *, seconds: float) -> bytes:
        """The sample answer of the request's shape."""
        return SAMPLE_ANSWERS if b'"questions"' in body else SAMPLE_ANSWER

    def close(self) -> None:
        """Nothing is open."""
