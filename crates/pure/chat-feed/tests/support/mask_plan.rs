//! What is to be masked in a session, in as many rounds as it takes.

use chat_event::ChatEvent;
use chat_feed::mask::{Plan, Scan};

/// The plan for these events.
pub(crate) fn plan_of(events: &[ChatEvent]) -> Plan {
    let mut scan = Scan::new();
    events.iter().for_each(|event| scan.push(event));
    let plan = scan.finish();
    if !plan.asks_again() {
        return plan;
    }
    let mut scan = Scan::again(plan);
    events.iter().for_each(|event| scan.push(event));
    scan.finish()
}
