//! Where the members of a payload go, so that one loop reads them all.

use super::Cursor;
use crate::body::Body;
use crate::extra::Extra;
use crate::json::Json;
use crate::payload::ToolError;
use crate::text::Text;

/// Where the value of a member goes.
pub(crate) enum Slot<'s> {
    Text(&'s mut String),
    OptionalText(&'s mut Option<String>),
    Json(&'s mut Json),
    OptionalJson(&'s mut Option<Json>),
    Body(&'s mut Body),
    OptionalBody(&'s mut Option<Body>),
    OptionalError(&'s mut Option<ToolError>),
    U32(&'s mut u32),
    OptionalU32(&'s mut Option<u32>),
    U64(&'s mut u64),
    Shared(&'s mut Text),
    OptionalU64(&'s mut Option<u64>),
    OptionalI64(&'s mut Option<i64>),
    Bool(&'s mut bool),
    OptionalBool(&'s mut Option<bool>),
    /// A value of this kind is not read here.
    Other,
}

/// What a member's value can be put into.
pub(crate) trait AsSlot {
    fn as_slot(&mut self) -> Slot<'_> {
        Slot::Other
    }
}

macro_rules! as_slot {
    ($($ty:ty => $slot:ident),* $(,)?) => {
        $( impl AsSlot for $ty {
            fn as_slot(&mut self) -> Slot<'_> {
                Slot::$slot(self)
            }
        } )*
    };
}

as_slot! {
    String => Text,
    Option<String> => OptionalText,
    Text => Shared,
    Json => Json,
    Option<Json> => OptionalJson,
    Body => Body,
    Option<Body> => OptionalBody,
    Option<ToolError> => OptionalError,
    u32 => U32,
    Option<u32> => OptionalU32,
    u64 => U64,
    Option<u64> => OptionalU64,
    Option<i64> => OptionalI64,
    bool => Bool,
    Option<bool> => OptionalBool,
}

impl<T> AsSlot for Vec<T> {}
impl AsSlot for Option<f64> {}
impl AsSlot for Option<(u64, u64)> {}

/// A member that is known.
pub(crate) struct Place<'s> {
    pub(crate) key: &'static str,
    pub(crate) required: bool,
    pub(crate) slot: Slot<'s>,
}

/// Reads an object's members into their places, which are empty; those that have none are added to `extra`.
pub(crate) fn fill(
    cursor: &mut Cursor<'_>,
    places: &mut [Place<'_>],
    extra: &mut Extra,
    spare: &mut String,
) -> Option<()> {
    let mut filled = 0_u32;
    cursor.take(b'{')?;
    if !cursor.take_if(b'}') {
        loop {
            let key = cursor.key()?;
            let known = places
                .iter_mut()
                .zip(0..)
                .find(|(place, _)| place.key.as_bytes() == key);
            match known {
                Some((place, nth)) => {
                    let bit = 1_u32.checked_shl(nth)?;
                    if filled & bit != 0 {
                        return None;
                    }
                    if cursor.null() {
                        // What is there as `null` is as good as not there.
                        if place.required {
                            return None;
                        }
                    } else {
                        place.fill(cursor, spare)?;
                    }
                    filled |= bit;
                }
                None => read_extra(key, cursor, extra)?,
            }
            if !cursor.goes_on()? {
                break;
            }
        }
    }
    let is_there = |(place, nth): (&Place<'_>, u32)| !place.required || filled & (1 << nth) != 0;
    places.iter().zip(0..).all(is_there).then_some(())
}

/// Reads a member that no rule knows, where it stands there once. Where there are many, only the other reader has a table
/// that tells.
pub(super) fn read_extra(key: &[u8], cursor: &mut Cursor<'_>, extra: &mut Extra) -> Option<()> {
    let key = std::str::from_utf8(key).ok()?;
    if extra.is_many() || extra.get(key).is_some() {
        return None;
    }
    extra.push(key, cursor.json()?);
    Some(())
}

impl Place<'_> {
    fn fill(&mut self, cursor: &mut Cursor<'_>, spare: &mut String) -> Option<()> {
        match &mut self.slot {
            Slot::Text(text) => {
                if matches!(self.key, "text" | "chunk") {
                    **text = std::mem::take(spare);
                }
                cursor.string_into(text)?;
            }
            Slot::OptionalText(text) => **text = Some(cursor.string()?),
            Slot::Shared(text) => **text = cursor.string()?.into(),
            Slot::Json(json) => **json = cursor.json()?,
            Slot::OptionalJson(json) => **json = Some(cursor.json()?),
            Slot::Body(body) => **body = Body::from(cursor.string()?),
            Slot::OptionalBody(body) => **body = Some(Body::from(cursor.string()?)),
            Slot::OptionalError(error) => **error = Some(ToolError::read_plain(cursor, spare)?),
            Slot::U32(number) => **number = u32::try_from(cursor.unsigned()?).ok()?,
            Slot::OptionalU32(number) => {
                **number = Some(u32::try_from(cursor.unsigned()?).ok()?);
            }
            Slot::U64(number) => **number = cursor.unsigned()?,
            Slot::OptionalU64(number) => **number = Some(cursor.unsigned()?),
            Slot::OptionalI64(number) => **number = Some(cursor.signed()?),
            Slot::Bool(truth) => **truth = cursor.truth()?,
            Slot::OptionalBool(truth) => **truth = Some(cursor.truth()?),
            Slot::Other => return None,
        }
        Some(())
    }
}
