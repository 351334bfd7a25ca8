//! Answers to what the agent asks: offered where they can be sent, told to the page around first, then to the server.

use std::rc::Rc;

use serde_json::json;

use super::FeedElement;
use super::opening::opened_by;
use crate::components::answering::{Answer, SendAnswer, Unsent};
use crate::platform::dom;
use crate::transport::answer::{Refusal, Route};

impl FeedElement {
    /// Answers are offered where the server takes them from this token and the page around lets the reader.
    pub(super) fn offer_answers(&self) {
        // What asked in the past is answered where it is now.
        let now = !self.store.looks_back();
        let offered = now && self.may_answer.get() && !self.attributes.borrow().readonly;
        let to = self.answers_to.borrow().clone().filter(|_| offered);
        let (host, me) = (self.host.clone(), self.me.clone());
        self.view
            .context
            .set_answers(to.map(|(live, server, session)| {
                let send: SendAnswer = Rc::new(move |answer| {
                    let (name, route, request_id, body) = outgoing(answer);
                    let mut detail = body.clone();
                    detail["requestId"] = json!(request_id);
                    detail["session"] = json!(session);
                    let detail = dom::value_of_json(&written(&detail));
                    if !dom::asks_leave(&host, name, &detail) {
                        return Box::pin(async { Err(Unsent::TakenOver) });
                    }
                    let body = written(&body);
                    let server = opened_by(&me, &server);
                    let sent = (live.answer)(server, session.clone(), route, request_id, body);
                    Box::pin(async move {
                        sent.await.map_err(|why| match why {
                            Refusal::Already(first) => Unsent::Already(first),
                            Refusal::Failed(why) => Unsent::Failed(why),
                        })
                    })
                });
                send
            }));
    }
}

/// The DOM event that tells of an answer, the route that takes it, its request, and its body.
fn outgoing(answer: Answer) -> (&'static str, Route, String, serde_json::Value) {
    match answer {
        Answer::Permission {
            request_id,
            decision,
            scope,
            message,
        } => {
            let mut body = json!({"decision": decision});
            if let Some(scope) = scope {
                body["scope"] = json!(scope);
            }
            if let Some(message) = message {
                body["message"] = json!(message);
            }
            ("af-permission", Route::Permissions, request_id, body)
        }
        Answer::Question {
            request_id,
            answers,
        } => {
            let body = match answers {
                Some(answers) => json!({"outcome": "answered", "answers": answers}),
                None => json!({"outcome": "rejected"}),
            };
            ("af-question", Route::Questions, request_id, body)
        }
    }
}

fn written(value: &serde_json::Value) -> String {
    // All names in it are texts: it can be written.
    serde_json::to_string(value).unwrap_or_default()
}
