//! The two macros that turn the tables of `payload` into types that read and write themselves.
//!
//! They stand in for serde's derive because its `flatten` cannot keep unknown fields as text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use crate::extra::{Extra, ExtraReader};

/// An object key, borrowed from the input where it has no escapes.
pub(crate) struct Key<'de>(pub(crate) Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object key")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

/// Reads the value of a known field; `null` counts as absent.
pub(crate) fn field<'de, T, A>(map: &mut A, name: &'static str) -> Result<Option<T>, A::Error>
where
    T: Deserialize<'de>,
    A: MapAccess<'de>,
{
    map.next_value()
        .map_err(|why| serde::de::Error::custom(format_args!("{name}: {why}")))
}

/// Where the value of a field goes.
///
/// Tables of slots are what payloads are read by: the loop over an object's members is compiled once, and not once a
/// payload (of the page's module that is a twentieth).
pub(crate) trait Slot<'de, A: MapAccess<'de>> {
    /// Reads the next value, that of the field `name`.
    fn fill(&mut self, map: &mut A, name: &'static str) -> Result<(), A::Error>;
}

impl<'de, T: Deserialize<'de>, A: MapAccess<'de>> Slot<'de, A> for Option<T> {
    fn fill(&mut self, map: &mut A, name: &'static str) -> Result<(), A::Error> {
        *self = field(map, name)?;
        Ok(())
    }
}

/// Reads an object's members into their slots; returned are those that have none.
pub(crate) fn fill<'de, A: MapAccess<'de>>(
    map: &mut A,
    slots: &mut [(&'static str, &mut dyn Slot<'de, A>)],
) -> Result<Extra, A::Error> {
    let mut extra = ExtraReader::default();
    while let Some(key) = map.next_key::<Key<'de>>()? {
        match slots.iter_mut().find(|(name, _)| *name == &*key.0) {
            Some((name, slot)) => slot.fill(map, name)?,
            None => extra.insert(&key.0, map.next_value()?),
        }
    }
    Ok(extra.done())
}

/// Declares one payload: `field: Type = "jsonName" required | optional | default`, and `cold` behind it where a body is
/// seldom looked at.
macro_rules! payload_struct {
    ($(#[$doc:meta])* $name:ident { $( $(#[$field_doc:meta])* $field:ident : $ty:ty = $key:literal $mode:ident $($cold:ident)? ),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $( $(#[$field_doc])* pub $field: $ty, )*
            /// Fields that no rule knows.
            pub extra: crate::extra::Extra,
        }

        impl $name {
            /// Reads the members of an object.
            pub(crate) fn read<'de, A: serde::de::MapAccess<'de>>(map: &mut A) -> Result<Self, A::Error> {
                $( let mut $field = None; )*
                let extra = crate::schema::fill(map, &mut [ $( ($key, &mut $field), )* ])?;
                Ok($name {
                    $( $field: payload_struct!(@take $field $key $mode), )*
                    extra,
                })
            }

            /// Reads an object where it is plain: see [`crate::direct`].
            #[allow(dead_code, reason = "of rare types nothing is read this way")]
            pub(crate) fn read_plain(cursor: &mut crate::direct::Cursor<'_>, spare: &mut String) -> Option<Self> {
                #[allow(unused_imports)]
                use crate::direct::AsSlot;
                let mut payload = $name::default();
                let mut places = [ $( crate::direct::Place {
                    key: $key,
                    required: payload_struct!(@required $mode),
                    slot: payload.$field.as_slot(),
                }, )* ];
                crate::direct::fill(cursor, &mut places, &mut payload.extra, spare)?;
                Some(payload)
            }
        }

        impl<'de> serde::de::Deserialize<'de> for $name {
            fn deserialize<D: serde::de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        $name::read(&mut map)
                    }
                }
                deserializer.deserialize_map(Visitor)
            }
        }

        impl crate::pack::Pack for $name {
            fn pack(&self, out: &mut crate::pack::Packer) {
                $( payload_struct!(@pack self $field out $($cold)?); )*
                self.extra.pack(out);
            }
            fn unpack(input: &mut crate::pack::Unpacker<'_>) -> Self {
                $name {
                    $( $field: payload_struct!(@unpack input $($cold)?), )*
                    extra: crate::pack::Pack::unpack(input),
                }
            }
        }

        impl serde::ser::Serialize for $name {
            fn serialize<S: serde::ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                $( payload_struct!(@write map self $field $key $mode); )*
                for (key, value) in self.extra.iter() {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    };
    (@pack $self:ident $field:ident $out:ident) => { $self.$field.pack($out) };
    (@pack $self:ident $field:ident $out:ident cold) => { crate::pack::pack_cold(&$self.$field, $out) };
    (@unpack $input:ident) => { crate::pack::Pack::unpack($input) };
    (@unpack $input:ident cold) => { crate::pack::unpack_cold($input) };
    (@required required) => { true };
    (@required $mode:ident) => { false };
    (@take $field:ident $key:literal required) => {
        $field.ok_or_else(|| serde::de::Error::missing_field($key))?
    };
    (@take $field:ident $key:literal optional) => { $field };
    (@take $field:ident $key:literal default) => { $field.unwrap_or_default() };
    (@write $map:ident $self:ident $field:ident $key:literal optional) => {
        if let Some(value) = &$self.$field {
            $map.serialize_entry($key, value)?;
        }
    };
    (@write $map:ident $self:ident $field:ident $key:literal $mode:ident) => {
        $map.serialize_entry($key, &$self.$field)?;
    };
}

/// Declares the enum of all payloads with its `type` names.
macro_rules! payloads {
    ($(#[$doc:meta])* pub enum $enum:ident { $( $type:literal => $name:ident ),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $enum {
            $( #[doc = concat!("`", $type, "`")] $name($name), )*
            /// A type that is not known, kept word for word.
            Unknown {
                /// The type.
                event_type: String,
                /// The payload.
                value: crate::json::Json,
            },
            /// A known type whose payload has not the shape it should have.
            Malformed {
                /// The type.
                event_type: String,
                /// The payload.
                value: crate::json::Json,
                /// Which field is wrong, and how.
                reason: String,
            },
        }

        impl $enum {
            /// The names of all known types, in the schema's order.
            pub const TYPES: &'static [&'static str] = &[$( $type ),*];

            /// The event's `type`.
            pub fn event_type(&self) -> &str {
                match self {
                    $( $enum::$name(_) => $type, )*
                    $enum::Unknown { event_type, .. } | $enum::Malformed { event_type, .. } => event_type,
                }
            }

            /// Reads the payload of an event of type `event_type` straight from the input.
            ///
            /// Fails where the payload has not the type's shape.
            pub(crate) fn read<'de, A: serde::de::MapAccess<'de>>(event_type: &str, map: &mut A) -> Result<Self, A::Error> {
                if !$enum::TYPES.contains(&event_type) {
                    return Ok($enum::Unknown { event_type: event_type.to_owned(), value: map.next_value()? });
                }
                map.next_value_seed(Typed(event_type))
            }

            /// Makes the payload of an event of type `event_type` from JSON that was already read; never fails.
            pub fn from_json(event_type: &str, value: crate::json::Json) -> Self {
                if !$enum::TYPES.contains(&event_type) {
                    return $enum::Unknown { event_type: event_type.to_owned(), value };
                }
                let text = value.as_text();
                let mut text = serde_json::Deserializer::from_str(&text);
                let read = serde::de::DeserializeSeed::deserialize(Typed(event_type), &mut text);
                read.unwrap_or_else(|why| $enum::Malformed {
                    event_type: event_type.to_owned(),
                    value,
                    reason: crate::error::in_payload(&why.to_string()),
                })
            }
        }

        /// What the payload of an event of a known type is read by.
        struct Typed<'t>(&'t str);

        impl<'de> serde::de::DeserializeSeed<'de> for Typed<'_> {
            type Value = $enum;
            fn deserialize<D: serde::de::Deserializer<'de>>(self, deserializer: D) -> Result<$enum, D::Error> {
                deserializer.deserialize_map(self)
            }
        }

        impl<'de> serde::de::Visitor<'de> for Typed<'_> {
            type Value = $enum;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$enum, A::Error> {
                match self.0 {
                    $( $type => $name::read(&mut map).map($enum::$name), )*
                    unknown => Err(serde::de::Error::custom(format_args!("{unknown} is no known type"))),
                }
            }
        }

        impl serde::ser::Serialize for $enum {
            fn serialize<S: serde::ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $( $enum::$name(payload) => payload.serialize(serializer), )*
                    $enum::Unknown { value, .. } | $enum::Malformed { value, .. } => value.serialize(serializer),
                }
            }
        }

        $( impl From<$name> for $enum {
            fn from(payload: $name) -> Self {
                $enum::$name(payload)
            }
        } )*
    };
}

pub(crate) use {payload_struct, payloads};
