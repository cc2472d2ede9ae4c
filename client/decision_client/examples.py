"""The built-in example request, and the answer that the documentation's examples read."""

from __future__ import annotations

import json

from decision_client.decisions import Decision, Option

_SIGN_IN = "The customer cannot sign in."

EXAMPLE_DECISION = Decision(
    id="support-route",
    state=_SIGN_IN,
    question="Which queue should handle this request?",
    options=(Option("account-access", "Account access support."), Option("billing", "Billing support.")),
)

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
            "model": {"file": "model.gguf", "bytes": 98_000_000, "sha256": "b1" * 32, "threads": 2},
            "readout": "final logits at the answer slots",
            "probability_status": "conditional on the options given, not calibrated",
            "forward_seconds": 0.3,
            "total_seconds": 0.4,
        }
    }
).encode()
