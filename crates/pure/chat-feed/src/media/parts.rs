//! Results that hold pictures or sound among their texts, in the shapes of those who write them.

use chat_event::{Body, Json};

use super::Attachment;

/// A result in parts: texts, and what is not text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// The texts, in order.
    pub texts: Vec<Body>,
    /// The rest, in order.
    pub attachments: Vec<Attachment>,
}

impl Parts {
    /// A list of content parts of which each is text or has data; `None` where it is anything else, or text alone.
    ///
    /// | shape | whose |
    /// |---|---|
    /// | `{type, source: {media_type, data}}` | Anthropic Messages |
    /// | `{type, data, mimeType}` | Model Context Protocol, Agent Client Protocol, Pi |
    /// | `{type, image_url: "data:…"}`, `{type, image_url: {url}}` | OpenAI |
    /// | `{type, file: {base64, type}}` alone, in no list | Claude Code's own details |
    pub fn of(result: &Json) -> Option<Parts> {
        // Looking first saves a parse for everything else.
        let text = result.as_text();
        if !text.contains("\"data\"") && !text.contains("\"base64\"") && !text.contains("image_url")
        {
            return None;
        }
        let list = match text.starts_with('[') {
            true => result.parse::<Vec<Json>>()?,
            false => vec![result.clone()],
        };
        let mut parts = Parts::default();
        for part in &list {
            let kind = part.get("type")?.as_str()?.into_owned();
            match kind.as_str() {
                "text" | "input_text" | "output_text" => {
                    parts.texts.push(part.get("text")?.to_body()?);
                }
                _ => parts.attachments.push(attachment(part, &kind)?),
            }
        }
        (!parts.attachments.is_empty()).then_some(parts)
    }
}

fn attachment(part: &Json, kind: &str) -> Option<Attachment> {
    let held = |within: &Json, data: &str, media_type: &str| {
        let data = within
            .get(data)?
            .to_body()
            .filter(|data| data.byte_len() > 0)?;
        let media_type = within
            .get(media_type)
            .and_then(|text| Some(text.as_str()?.into_owned()));
        let name = part
            .get("name")
            .and_then(|text| Some(text.as_str()?.into_owned()));
        Some(Attachment {
            name,
            media_type: media_type.unwrap_or_else(|| kind.to_owned()),
            data: Some(data),
        })
    };
    if let Some(source) = part.get("source") {
        return held(&source, "data", "media_type");
    }
    if let Some(file) = part.get("file") {
        return held(&file, "base64", "type");
    }
    if let Some(image) = part.get("image_url") {
        let data = image.get("url").unwrap_or(image).to_body()?;
        // Another address is where a picture lies, and not the picture.
        return data.preview().starts_with("data:").then(|| Attachment {
            name: None,
            media_type: "image".to_owned(),
            data: Some(data),
        });
    }
    held(part, "data", "mimeType")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: serde_json::Value) -> Option<(usize, Vec<(String, String)>)> {
        let parts = Parts::of(&Json::from(value))?;
        let attachments = parts.attachments.iter().map(|attachment| {
            let data = attachment
                .data
                .as_ref()
                .map(Body::preview)
                .unwrap_or_default();
            (attachment.media_type.clone(), data.to_string())
        });
        Some((parts.texts.len(), attachments.collect()))
    }

    #[test]
    fn every_shape_is_read_and_nothing_is_left_out() {
        let one = |media_type: &str, data: &str| vec![(media_type.to_owned(), data.to_owned())];
        let anthropic = serde_json::json!([{"type": "text", "text": "a"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]);
        assert_eq!(of(anthropic), Some((1, one("image/png", "AAAA"))));
        let protocol =
            serde_json::json!([{"type": "audio", "data": "BBBB", "mimeType": "audio/wav"}]);
        assert_eq!(of(protocol), Some((0, one("audio/wav", "BBBB"))));
        let openai =
            serde_json::json!([{"type": "input_image", "image_url": "data:image/png;base64,CCCC"}]);
        assert_eq!(
            of(openai),
            Some((0, one("image", "data:image/png;base64,CCCC")))
        );
        let own =
            serde_json::json!({"type": "image", "file": {"base64": "DDDD", "type": "image/png"}});
        assert_eq!(of(own), Some((0, one("image/png", "DDDD"))));
        // What has a part that is neither is shown as it is.
        for other in [
            serde_json::json!([{"type": "text", "text": "a data"}]),
            serde_json::json!([{"type": "image", "data": "AAAA"}, {"type": "other", "x": 1}]),
            serde_json::json!([{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]),
            serde_json::json!({"data": "AAAA"}),
        ] {
            assert_eq!(of(other.clone()), None, "{other}");
        }
    }
}
