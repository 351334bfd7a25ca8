//! What is sent along with a message or a result, and which of it may be shown as a picture or heard.
//!
//! A picture is what its own first bytes say it is, whatever it is called; SVG is none, for it is markup. How large it is
//! drawn is known before it is, so that a few bytes cannot ask for gigabytes of pixels. Sound is known likewise.

mod header;
mod parts;
mod sound;

use chat_event::{Body, Json};

pub use parts::Parts;
pub use sound::Sound;

/// Longer data is neither shown nor played; base64, in bytes.
pub const MOST_BYTES: u64 = 8 * 1024 * 1024;
/// A picture of more pixels is not shown: a browser keeps four bytes of each.
const MOST_PIXELS: u64 = 40_000_000;

/// Something sent along with a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Attachment {
    /// What it is called.
    pub name: Option<String>,
    /// As its source says; it may be anything.
    pub media_type: String,
    /// Base64, here or elsewhere; `None` where the source keeps it.
    pub data: Option<Body>,
}

impl Attachment {
    /// What is attached, in order: `[{name?, mediaType, data | text | ref}]`.
    ///
    /// ```
    /// use chat_event::Json;
    /// use chat_feed::media::Attachment;
    /// let json = Json::from(serde_json::json!([{"name": "a.png", "mediaType": "image/png", "data": "iVBORw0="}]));
    /// assert_eq!(Attachment::list(Some(&json))[0].name.as_deref(), Some("a.png"));
    /// ```
    pub fn list(json: Option<&Json>) -> Vec<Attachment> {
        let items = json.and_then(|json| json.parse::<Vec<Json>>());
        let read = |item: &Json| {
            let text = |key: &str| {
                let text = item.get(key)?.as_str()?.into_owned();
                (!text.is_empty()).then_some(text)
            };
            Attachment {
                name: text("name"),
                media_type: text("mediaType").unwrap_or_default(),
                data: item
                    .get("data")
                    .and_then(|data| data.to_body())
                    .filter(|data| data.byte_len() > 0),
            }
        };
        items.iter().flatten().map(read).collect()
    }
}

/// A picture, as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: &'static str,
    /// Width and height in pixels; `None` where the bytes given end before they tell.
    pub size: Option<(u32, u32)>,
}

impl Picture {
    /// What the beginning of some base64 is; `None` where it is no picture, or none that is shown.
    ///
    /// ```
    /// use chat_feed::media::Picture;
    /// let gif = Picture::of("R0lGODlhAgADAIAAAAUEBA==").unwrap();
    /// assert_eq!((gif.media_type, gif.size), ("image/gif", Some((2, 3))));
    /// assert_eq!(Picture::of("PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"), None);
    /// ```
    pub fn of(data: &str) -> Option<Picture> {
        let picture = header::read(&header::decoded(bare(data)))?;
        let fits =
            |(width, height)| (1..=MOST_PIXELS).contains(&(u64::from(width) * u64::from(height)));
        picture.size.is_none_or(fits).then_some(picture)
    }

    /// The address of a picture whose data is all here; `None` where it is not to be shown.
    pub fn address(data: &str) -> Option<String> {
        let picture = Picture::of(data).filter(|picture| picture.size.is_some())?;
        address(picture.media_type, bare(data))
    }

    /// Width and height of the largest picture of this shape that fits; never larger than it is.
    ///
    /// ```
    /// use chat_feed::media::Picture;
    /// let picture = Picture { media_type: "image/png", size: Some((400, 100)) };
    /// assert_eq!(picture.fitting(100, 100), Some((100, 25)));
    /// ```
    pub fn fitting(&self, most_width: u32, most_height: u32) -> Option<(u32, u32)> {
        let (width, height) = self.size?;
        let (wide, high) = (u64::from(width), u64::from(height));
        let (width, height) = if wide <= most_width.into() && high <= most_height.into() {
            (wide, high)
        } else if wide * u64::from(most_height) > high * u64::from(most_width) {
            (most_width.into(), high * u64::from(most_width) / wide)
        } else {
            (wide * u64::from(most_height) / high, most_height.into())
        };
        let side = |px: u64| u32::try_from(px.max(1)).ok();
        Some((side(width)?, side(height)?))
    }
}

/// The address of data that is all here; `None` where it is too long, or no base64. Browsers pass over ends of lines in it.
fn address(media_type: &str, data: &str) -> Option<String> {
    let sound = data.len() as u64 <= MOST_BYTES
        && data
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(&byte));
    sound.then(|| format!("data:{media_type};base64,{data}"))
}

/// Without the words that make base64 an address.
fn bare(data: &str) -> &str {
    match data.split_once(";base64,") {
        Some((head, rest)) if head.starts_with("data:") && head.len() < 100 => rest,
        _ => data,
    }
}
