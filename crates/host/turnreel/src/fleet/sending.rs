//! Sending events to the server that gives their session its numbers, as anything is sent to it: known by their ids.
//!
//! What that server does not take as an event is no reason to keep the others from it. Each such event is said, by its place
//! among those that were sent.

use axum::http::{Method, StatusCode, header};
use chat_event::ChatEvent;
use chat_store::{SessionId, sha256_hex};
use chat_tiers::Member;
use serde::Deserialize;

use super::errands::{SCOPES, SENDER, told, words};
use super::{Fleet, away, unanswered};
use crate::error::ApiError;
use crate::scope::Grant;

/// An event that its session's home does not take.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotTaken {
    /// Its place among those that were sent.
    pub(crate) index: usize,
    pub(crate) field: Option<String>,
    pub(crate) message: String,
}

/// What became of events that were sent.
#[derive(Debug, Deserialize)]
struct Taken {
    #[serde(default)]
    results: Vec<TakenOne>,
    /// Why nothing was taken.
    error: Option<Refusal>,
}

#[derive(Debug, Deserialize)]
struct Refusal {
    code: String,
    message: String,
}

#[derive(Debug, Deserialize)]
struct TakenOne {
    status: String,
    /// Its place among those that were sent, where it was not stored.
    index: Option<usize>,
    /// It is there, under another time.
    #[serde(default, rename = "onlyTime")]
    only_time: bool,
    field: Option<String>,
    #[serde(default)]
    message: String,
}

/// A line, and its place among all that are to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    at: usize,
    text: String,
}

/// Those of the events that are to be sent under another id: the same one each time, so that none stands twice however often
/// they are sent.
fn again(lines: &[Line], taken: &Taken) -> Vec<Line> {
    let conflicts = taken.results.iter();
    let conflicts = conflicts.filter(|it| it.status == "conflict" && !it.only_time);
    let again = conflicts.filter_map(|it| {
        let Line { at, text } = lines.get(it.index?)?;
        let mut event = ChatEvent::from_json(text).ok()?;
        event.id = format!("again:{}", &sha256_hex(text.as_bytes())[..40]);
        let text = event.to_line();
        Some(Line { at: *at, text })
    });
    again.collect()
}

/// Those that are no events there.
fn rejected(lines: &[Line], taken: &Taken) -> Vec<NotTaken> {
    let rejected = taken.results.iter().filter(|it| it.status == "rejected");
    let rejected = rejected.filter_map(|it| {
        Some(NotTaken {
            index: lines.get(it.index?)?.at,
            field: it.field.clone(),
            message: it.message.clone(),
        })
    });
    rejected.collect()
}

/// What an answer says of the lines that were sent.
#[derive(Debug, PartialEq, Eq)]
enum Answered {
    /// These are not taken, and those to be sent under another id.
    Done(Vec<NotTaken>, Vec<Line>),
    /// One of them, or all together, cannot be taken: each half is to be sent for itself.
    InHalves,
    /// The server does not take anything now.
    No,
}

/// `None` where that cannot be read.
fn answered(status: StatusCode, body: &[u8], lines: &[Line]) -> Option<Answered> {
    let is_too_large = status == StatusCode::PAYLOAD_TOO_LARGE;
    let says_which = matches!(status, StatusCode::CONFLICT | StatusCode::BAD_REQUEST);
    if !status.is_success() && !is_too_large && !says_which {
        return Some(Answered::No);
    }
    if is_too_large && lines.len() > 1 {
        return Some(Answered::InHalves);
    }
    let taken: Taken = serde_json::from_slice(body).ok()?;
    if status.is_success() || says_which && !taken.results.is_empty() {
        let rejected = rejected(lines, &taken);
        return Some(Answered::Done(rejected, again(lines, &taken)));
    }
    // Of a line, where it is that one alone; anything else is refused for another reason than what it says.
    let refusal = taken.error?;
    let is_of_lines = is_too_large || refusal.code == "bad_json";
    Some(match lines {
        [Line { at, .. }] if is_of_lines => {
            let not_taken = NotTaken {
                index: *at,
                field: None,
                message: refusal.message,
            };
            Answered::Done(vec![not_taken], Vec::new())
        }
        _ if is_of_lines => Answered::InHalves,
        _ => Answered::No,
    })
}

impl Fleet {
    /// Sends events of a source that is read here to a session that is at home there; those that it does not take are given.
    ///
    /// # Errors
    ///
    /// 503 where it is away.
    pub(crate) async fn send_on(
        &self,
        home: &str,
        session: &SessionId,
        events: &[ChatEvent],
    ) -> Result<Vec<NotTaken>, ApiError> {
        let member = self.member(home).ok_or_else(away)?;
        let lines: Vec<String> = events.iter().map(ChatEvent::to_line).collect();
        let sending = self.send_events(&member, session, lines);
        sending.await.map_err(|why| {
            tracing::warn!(
                session = session.as_str(),
                "could not send events on: {why}"
            );
            unanswered()
        })
    }

    /// Sends events to a session at home there, as they stand in the log here. What is there under an id with other words is
    /// sent under another, so that both are kept. Those that it does not take are given, in order.
    pub(super) async fn send_events(
        &self,
        member: &Member,
        session: &SessionId,
        lines: Vec<String>,
    ) -> Result<Vec<NotTaken>, String> {
        let mut not_taken = Vec::new();
        let lines = lines.into_iter().enumerate();
        let mut left = vec![
            lines
                .map(|(at, text)| Line { at, text })
                .collect::<Vec<_>>(),
        ];
        while let Some(mut lines) = left.pop() {
            if lines.is_empty() {
                continue;
            }
            let (status, body) = self.post_lines(member, session, &lines).await?;
            match answered(status, &body, &lines) {
                Some(Answered::Done(rejected, again)) => {
                    not_taken.extend(rejected);
                    left.push(again);
                }
                Some(Answered::InHalves) => {
                    let second = lines.split_off(lines.len() / 2);
                    left.extend([second, lines]);
                }
                Some(Answered::No) => return Err(format!("{} answers {status}", member.url)),
                None => return Err(format!("{} answers what cannot be read", member.url)),
            }
        }
        if !not_taken.is_empty() {
            not_taken.sort_by_key(|it| it.index);
            // They were events here; what is set aside has them.
            tracing::error!(
                session = session.as_str(),
                "{} did not take {} events",
                member.url,
                not_taken.len()
            );
        }
        Ok(not_taken)
    }

    async fn post_lines(
        &self,
        member: &Member,
        session: &SessionId,
        lines: &[Line],
    ) -> Result<(StatusCode, Vec<u8>), String> {
        let path = format!("/api/v1/sessions/{session}/events");
        let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        // In our own name; a server that is not the session's home does not hand it on again.
        let own = Grant::of_fleet();
        let request = self
            .request(member, Method::POST, &path)?
            .header(SENDER, &own.id)
            .header(SCOPES, words(&own))
            .header(header::CONTENT_TYPE, "application/json")
            .body(format!("[{}]", texts.join(",")));
        let answer = self.answer_to(member, request).await?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(|why| told(member, &why))?;
        Ok((status, body.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(n: usize) -> Vec<Line> {
        let line = |at| Line {
            at,
            text: format!(
                r#"{{"id":"e{at}","timestamp":1,"type":"user_message","payload":{{"text":"x"}}}}"#
            ),
        };
        // The first that were sent are done.
        (5..5 + n).map(line).collect()
    }

    fn not_taken(index: usize, message: &str) -> NotTaken {
        NotTaken {
            index,
            field: None,
            message: message.to_owned(),
        }
    }

    #[test]
    fn an_event_that_the_home_never_takes_is_found_and_keeps_no_other_from_it() {
        let large = br#"{"error":{"code":"too_large","message":"over the limit"}}"#;
        let no_json = br#"{"error":{"code":"bad_json","message":"no JSON"}}"#;
        for (status, body) in [(413, &large[..]), (400, no_json)] {
            let status = StatusCode::from_u16(status).unwrap();
            let answer = |n| answered(status, body, &lines(n));
            assert_eq!(answer(2), Some(Answered::InHalves));
            let Some(Answered::Done(rejected, again)) = answer(1) else {
                panic!("one alone is rejected");
            };
            assert_eq!((rejected[0].index, again.len()), (5, 0));
        }
        // All of a batch, with what is wrong with each.
        let all = br#"{"error":{"code":"bad_event","message":"nothing"},"results":[
            {"status":"rejected","index":0,"code":"bad_event","message":"one"},
            {"status":"rejected","index":1,"code":"bad_event","message":"two"}]}"#;
        let rejected = vec![not_taken(5, "one"), not_taken(6, "two")];
        let done = Answered::Done(rejected, Vec::new());
        assert_eq!(
            answered(StatusCode::BAD_REQUEST, all, &lines(2)),
            Some(done)
        );
    }

    #[test]
    fn what_is_refused_for_another_reason_than_its_lines_is_sent_again_later() {
        let other = br#"{"error":{"code":"bad_session","message":"no"}}"#;
        for status in [400, 401, 403, 404, 421, 423, 429, 500, 503] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(answered(status, other, &lines(1)), Some(Answered::No));
        }
        assert_eq!(answered(StatusCode::OK, b"<html>", &lines(1)), None);
    }

    #[test]
    fn what_has_an_id_that_is_taken_is_sent_under_another_and_keeps_its_place() {
        let mixed = br#"{"results":[{"status":"stored","seq":1},
            {"status":"conflict","index":1,"code":"id_conflict","id":"e6","seq":9},
            {"status":"conflict","index":2,"code":"id_conflict","id":"e7","seq":9,"onlyTime":true},
            {"status":"rejected","index":3,"code":"bad_event","message":"why"}]}"#;
        let answer = answered(StatusCode::OK, mixed, &lines(4));
        let Some(Answered::Done(rejected, again)) = answer else {
            panic!("it says what became of each");
        };
        assert_eq!(rejected, [not_taken(8, "why")]);
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].at, 6);
        assert!(again[0].text.contains("again:"));
    }
}
