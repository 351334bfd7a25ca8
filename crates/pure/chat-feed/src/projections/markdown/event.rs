//! Events that say all by themselves, as blocks of the transcript.

use chat_event::Json;
use chat_event::payload::{
    PermissionRequest, PermissionResolved, Plan, PlanEntry, Question, QuestionRequest,
    QuestionResolved, UserMessage,
};

use super::RAW_BYTES;
use super::call::write_cut;
use super::times::duration;
use super::writer::{Writer, code, words};
use crate::answers::told_answers;
use crate::media::Attachment;
use crate::projections::TextSink;
use crate::projections::TokenCounts;
use crate::projections::plain::{body_text, json_text};
use crate::units::grouped;

pub(super) fn user_message<S: TextSink>(
    message: &UserMessage,
    nested: bool,
    out: &mut Writer<'_, S>,
) {
    out.block(if nested { "**Prompt**" } else { "**User**" });
    out.quoted(|out| {
        out.prose(&body_text(&message.text));
        for attachment in Attachment::list(message.attachments.as_ref()) {
            out.block(&words(&attachment.note()));
        }
    });
}

/// What came of a turn, how long it took, and what it used.
pub(super) fn turn_end<S: TextSink>(
    outcome: &str,
    took_ms: Option<u64>,
    (tokens, cost_usd): (Option<TokenCounts>, Option<f64>),
    out: &mut Writer<'_, S>,
) {
    let mut facts = vec![words(outcome)];
    facts.extend(took_ms.map(duration));
    if let Some(tokens) = tokens {
        let (read, written) = (grouped(tokens.input_tokens), grouped(tokens.output_tokens));
        facts.push(format!("{read} tokens in, {written} out"));
    }
    // Who is asked at no cost, or at one that is not known, says 0.
    let cost_usd = cost_usd.filter(|&cost_usd| cost_usd > 0.0);
    facts.extend(cost_usd.map(|cost| format!("${cost:.4}")));
    out.block(&format!("*Turn {}*", facts.join(", ")));
}

pub(super) fn plan<S: TextSink>(plan: &Plan, out: &mut Writer<'_, S>) {
    let line = |entry: &PlanEntry| {
        let mark = if entry.status == "completed" {
            'x'
        } else {
            ' '
        };
        let now = if entry.status == "in_progress" {
            " *(now)*"
        } else {
            ""
        };
        format!("- [{mark}] {}{now}", words(&entry.content))
    };
    out.block("**Plan**");
    if !plan.entries.is_empty() {
        out.block(&plan.entries.iter().map(line).collect::<Vec<_>>().join("\n"));
    }
}

pub(super) fn permission_request<S: TextSink>(
    request: &PermissionRequest,
    out: &mut Writer<'_, S>,
) {
    let title = request.title.as_deref().map(code).unwrap_or_default();
    let tool = code(&request.tool_name);
    out.block(format!("**Permission asked** {tool} {title}").trim_end());
    if let Some(reason) = &request.reason {
        out.quoted(|out| out.prose(reason));
    }
}

pub(super) fn permission_resolved<S: TextSink>(
    resolved: &PermissionResolved,
    out: &mut Writer<'_, S>,
) {
    let by = resolved.by.as_deref().map(words);
    let by = by.map_or_else(String::new, |by| format!(", by {by}"));
    let decision = words(&resolved.decision);
    out.block(&format!("**Permission** {decision}{by}"));
    if let Some(message) = &resolved.message {
        out.quoted(|out| out.prose(message));
    }
}

pub(super) fn question_request<S: TextSink>(request: &QuestionRequest, out: &mut Writer<'_, S>) {
    for question in &request.questions {
        out.block("**Question**");
        out.quoted(|out| {
            out.prose(&question.text);
            let options = question.options.iter();
            let options: Vec<_> = options
                .map(|option| format!("- {}", words(&option.label)))
                .collect();
            if !options.is_empty() {
                out.block(&options.join("\n"));
            }
        });
    }
}

pub(super) fn question_resolved<S: TextSink>(
    resolved: &QuestionResolved,
    questions: &[Question],
    out: &mut Writer<'_, S>,
) {
    out.block(format!("**Question** {}", words(&resolved.outcome)).trim_end());
    let answers = resolved.answers.as_ref();
    let Some(answers) = answers.filter(|answers| !answers.is_null()) else {
        return;
    };
    let mut told = told_answers(questions, answers);
    // Where they do not say to what they are, there is one line for all.
    if told.len() > questions.len() {
        told.drain(..questions.len());
    }
    for (nth, said) in told.iter().enumerate() {
        let asked = questions.get(nth).filter(|_| told.len() > 1);
        let asked = asked.map_or_else(String::new, |asked| format!("{}: ", words(&asked.text)));
        if said.contains('\n') || said.len() > RAW_BYTES {
            out.block(asked.trim_end());
            write_cut(out, "text", said, RAW_BYTES);
        } else {
            out.quoted(|out| out.block(&format!("{asked}{}", words(said))));
        }
    }
}

pub(super) fn unread<S: TextSink>(format: &str, value: &Json, out: &mut Writer<'_, S>) {
    out.block(format!("**Line that no rule knows** {}", code(format)).trim_end());
    write_cut(out, "json", &json_text(value), RAW_BYTES);
}
