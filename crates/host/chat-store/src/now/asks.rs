//! What is asked for, in a few words: the object of a request, and the question.

use chat_event::Json;
use chat_event::payload::{PermissionRequest, QuestionRequest};
use chat_event::shell::script_of;
use serde::Deserialize;

use super::{Ask, TEXT_CHARS, whole};

pub(super) fn of_permission(request: &PermissionRequest) -> Ask {
    let object = request.args.as_ref().and_then(object_of);
    let object = object.map(|object| script_of(&object).into_owned());
    let whole = object
        .as_ref()
        .and_then(|object| whole::of_permission(request, object));
    let text = object.or_else(|| request.title.clone());
    let text = text.unwrap_or_default();
    Ask {
        kind: "permission".to_owned(),
        tool: one_line(&request.tool_name),
        text: one_line(&text),
        since_ms: None,
        answerable: request.answerable,
        whole,
    }
}

pub(super) fn of_question(request: &QuestionRequest) -> Ask {
    let text = request
        .questions
        .first()
        .map_or("", |question| &question.text);
    Ask {
        kind: "question".to_owned(),
        tool: String::new(),
        text: one_line(text),
        since_ms: None,
        answerable: request.answerable,
        whole: whole::of_question(request),
    }
}

/// What a call works on, by the names that tools give it; the arguments are gone through once.
pub(super) fn object_of(args: &Json) -> Option<String> {
    // Each name is a field of its own: a call may bear several of them.
    #[derive(Deserialize)]
    struct Told {
        command: Option<Json>,
        cmd: Option<Json>,
        file_path: Option<Json>,
        #[serde(rename = "filePath")]
        file_path_camel: Option<Json>,
        notebook_path: Option<Json>,
        pattern: Option<Json>,
        query: Option<Json>,
        glob: Option<Json>,
        url: Option<Json>,
        path: Option<Json>,
        description: Option<Json>,
        prompt: Option<Json>,
    }
    let told: Told = args.parse()?;
    let by_weight = [
        told.command,
        told.cmd,
        told.file_path,
        told.file_path_camel,
        told.notebook_path,
        told.pattern,
        told.query,
        told.glob,
        told.url,
        told.path,
        told.description,
        told.prompt,
    ];
    by_weight
        .into_iter()
        .flatten()
        .find_map(|value| value.as_str().map(|text| text.into_owned()))
        .filter(|text| !text.trim().is_empty())
}

/// The first line that says anything, cut.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    match line.char_indices().nth(TEXT_CHARS) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}
