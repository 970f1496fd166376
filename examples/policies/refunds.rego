# Refunds: small ones by support are paid, others are for a person to decide.
package gerbang

default decision := {"decision": "deny", "reasons": ["NOT_A_REFUND"]}

decision := {"decision": "ask", "reasons": ["BIG_REFUND"], "obligations": ["two_person"]} if {
	refund
	not small
}

decision := {"decision": "allow", "reasons": ["SMALL_REFUND"], "rule": "small", "auto": true} if {
	refund
	small
}

refund if {
	input.tool.name == "shop.refund.v1"
	"support" in input.actor.roles
}

small if {
	input.arguments.amount > 0
	input.arguments.amount <= 50
}
