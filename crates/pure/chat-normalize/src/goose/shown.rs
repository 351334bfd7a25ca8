//! What of a result is shown: what is for the user, and pictures apart.

use serde_json::{Value, json};

use crate::value::{str_of, text_of};

/// The words of a result and what is attached: those for the user, where some are marked so.
pub(super) fn shown(blocks: &[Value]) -> (String, Vec<Value>) {
    let audience = |block: &Value| -> Option<Vec<String>> {
        let told = block.get("annotations")?.get("audience")?.as_array()?;
        Some(
            told.iter()
                .filter_map(|it| it.as_str().map(str::to_owned))
                .collect(),
        )
    };
    let is_for = |block: &&Value, who: &str| {
        audience(block).is_none_or(|told| told.is_empty() || told.iter().any(|it| it == who))
    };
    let for_user: Vec<&Value> = blocks
        .iter()
        .filter(|block| is_for(block, "user"))
        .collect();
    let kept = match for_user.is_empty() {
        true => blocks.iter().collect(),
        false => for_user,
    };
    let mut texts = Vec::new();
    let mut attachments = Vec::new();
    for block in kept {
        match (str_of(block, "type"), str_of(block, "text")) {
            (Some("image"), _) => attachments.push(picture(block)),
            (_, Some(text)) => texts.push(text.to_owned()),
            _ => {
                let resource = block.get("resource").unwrap_or(block);
                let text = str_of(resource, "text").map(str::to_owned);
                texts.push(text.unwrap_or_else(|| block.to_string()));
            }
        }
    }
    (texts.join("\n"), attachments)
}

pub(super) fn picture(block: &Value) -> Value {
    let media_type = text_of(block, "mimeType").unwrap_or("image/*");
    json!({"mediaType": media_type, "data": str_of(block, "data").unwrap_or("")})
}
