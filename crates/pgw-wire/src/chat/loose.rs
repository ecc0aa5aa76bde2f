//! JSON leaves and branches that accept whatever comes.
//!
//! Services send `null` for lists, strings for numbers and objects for strings. A typed decoder would
//! refuse the whole chunk and hide why (0xPlaygrounds/rig#1662); these types take anything in one pass
//! and let the reader ask for what it can use. Of a member that comes twice the last counts, where
//! serde's derive would refuse the object.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{
        self, DeserializeSeed, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_json::{Number, Value};

/// Any JSON value; text is borrowed where it has no escapes.
///
/// It is kept small, since a chunk has dozens of these and is moved a few times: what is rare is
/// boxed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Leaf<'a> {
    /// Absent or `null`.
    #[default]
    Null,
    /// A string.
    Text(Cow<'a, str>),
    /// A number.
    Number(Number),
    /// Anything else.
    Other(Box<Value>),
}

impl<'a> Leaf<'a> {
    pub(crate) const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The text, if it is one and not empty.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            Self::Text(_) | Self::Null | Self::Number(_) | Self::Other(_) => None,
        }
    }

    /// A count: a number, or a number written as a string.
    pub(crate) fn count(&self) -> Option<u64> {
        match self {
            Self::Null | Self::Other(_) => None,
            Self::Text(text) => {
                let text = text.trim();
                text.parse().ok().or_else(|| whole_count(text.parse().ok()?))
            }
            Self::Number(number) => number.as_u64().or_else(|| whole_count(number.as_f64()?)),
        }
    }

    /// An id: a text that is not empty, or a number.
    pub(crate) fn id(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Number(number) => Some(number.to_string().into()),
            _ => self.text().map(Cow::Borrowed),
        }
    }

    pub(crate) fn integer(&self) -> Option<i64> {
        match self {
            Self::Number(number) => number.as_i64(),
            Self::Text(text) => text.parse().ok(),
            Self::Null | Self::Other(_) => None,
        }
    }

    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Text(text) => Value::String(text.into_owned()),
            Self::Number(number) => Value::Number(number),
            Self::Other(value) => *value,
        }
    }

    /// The text as the caller gets it; the copy is the only one made of it.
    pub(crate) fn into_text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            Self::Text(_) | Self::Null | Self::Number(_) | Self::Other(_) => None,
        }
    }
}

/// A token count written as 12.0.
fn whole_count(float: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the sign is checked, and more tokens than that don't exist"
    )]
    (float.is_finite() && float >= 0.0).then_some(float as u64)
}

struct LeafVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for LeafVisitor<'a> {
    type Value = Leaf<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Leaf<'a>, E> {
        Ok(Leaf::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Leaf<'a>, E> {
        Ok(Leaf::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Leaf<'a>, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Leaf<'a>, E> {
        Ok(Leaf::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Leaf<'a>, E> {
        Ok(Leaf::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Leaf<'a>, E> {
        Ok(Leaf::Text(Cow::Owned(text)))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Leaf<'a>, E> {
        Ok(Leaf::Other(Box::new(value.into())))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Leaf<'a>, E> {
        Ok(Leaf::Number(value.into()))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Leaf<'a>, E> {
        Ok(Leaf::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Leaf<'a>, E> {
        Ok(Number::from_f64(value).map_or(Leaf::Null, Leaf::Number))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Leaf<'a>, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(seq)).map(Box::new).map(Leaf::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Leaf<'a>, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(map)).map(Box::new).map(Leaf::Other)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Leaf<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LeafVisitor(PhantomData))
    }
}

/// An object whose members are filled in where they will stay: they are many, and moving them about
/// costs more than reading them.
pub(crate) trait Members<'de>: Default {
    fn fill<A: MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error>;
}

impl<'de, T: Members<'de>> Members<'de> for Box<T> {
    fn fill<A: MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error> {
        (**self).fill(map)
    }
}

/// A place for a member's value.
pub(crate) trait Place<'de> {
    fn put<A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<(), A::Error>;
}

impl<'de: 'a, 'a> Place<'de> for Leaf<'a> {
    fn put<A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<(), A::Error> {
        *self = map.next_value()?;
        Ok(())
    }
}

/// Declares structs of loose members: members that are not named are skipped.
macro_rules! loose {
    ($(
        $(#[$doc:meta])*
        struct $name:ident<$life:lifetime> {
            $($(#[$member_doc:meta])* $member:ident: $kind:ty = $key:literal,)*
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub(crate) struct $name<$life> {
            $($(#[$member_doc])* pub(crate) $member: $kind,)*
        }

        impl<'de: $life, $life> $crate::chat::loose::Members<'de> for $name<$life> {
            fn fill<A: serde::de::MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
                #[derive(serde::Deserialize)]
                #[serde(field_identifier)]
                #[expect(non_camel_case_types, reason = "named after the members")]
                enum Member {
                    $(#[serde(rename = $key)] $member,)*
                    #[serde(other)]
                    Unknown,
                }

                while let Some(member) = map.next_key()? {
                    match member {
                        $(Member::$member => {
                            $crate::chat::loose::Place::put(&mut self.$member, &mut map)?;
                        })*
                        Member::Unknown => {
                            map.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(())
            }
        }
    )*};
}

pub(crate) use loose;

/// Reads an object; anything else is an error.
pub(crate) fn object<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Members<'de>,
    D: Deserializer<'de>,
{
    struct ObjectVisitor<T>(PhantomData<T>);

    impl<'de, T: Members<'de>> Visitor<'de> for ObjectVisitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            let mut value = T::default();
            value.fill(map)?;
            Ok(value)
        }
    }

    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

/// An object, or nothing if something else came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Branch<T>(pub(crate) Option<T>);

impl<T> Default for Branch<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Members<'de>> Place<'de> for Branch<T> {
    fn put<A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<(), A::Error> {
        self.0 = None;
        map.next_value_seed(Fill(self))
    }
}

/// A list, or an empty one if something else came. Elements that are no objects are left out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Members<'de>> Place<'de> for List<T> {
    fn put<A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<(), A::Error> {
        self.0.clear();
        map.next_value_seed(Fill(self))
    }
}

/// What takes objects or lists in, and skips the rest.
trait Shape<'de> {
    fn take_map<A: MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error> {
        de::IgnoredAny::deserialize(MapAccessDeserializer::new(map)).map(drop)
    }

    fn take_seq<A: SeqAccess<'de>>(&mut self, seq: A) -> Result<(), A::Error> {
        de::IgnoredAny::deserialize(SeqAccessDeserializer::new(seq)).map(drop)
    }
}

impl<'de, T: Members<'de>> Shape<'de> for Branch<T> {
    fn take_map<A: MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error> {
        self.0.insert(T::default()).fill(map)
    }
}

impl<'de, T: Members<'de>> Shape<'de> for List<T> {
    fn take_seq<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<(), A::Error> {
        // Nearly all lists have one element.
        self.0.reserve_exact(1);
        while seq.next_element_seed(Fill(&mut Element(&mut self.0)))?.is_some() {}
        Ok(())
    }
}

/// The next element of a list.
struct Element<'v, T>(&'v mut Vec<T>);

impl<'de, T: Members<'de>> Shape<'de> for Element<'_, T> {
    fn take_map<A: MapAccess<'de>>(&mut self, map: A) -> Result<(), A::Error> {
        self.0.push(T::default());
        self.0.last_mut().map_or(Ok(()), |element| element.fill(map))
    }
}

/// Reads a value of any shape into its place.
struct Fill<'s, S>(&'s mut S);

impl<'de, S: Shape<'de>> DeserializeSeed<'de> for Fill<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! skip {
    ($($name:ident($kind:ty)),*) => {
        $(fn $name<E: de::Error>(self, _: $kind) -> Result<(), E> { Ok(()) })*
    };
}

impl<'de, S: Shape<'de>> Visitor<'de> for Fill<'_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    skip!(visit_str(&str), visit_bool(bool), visit_u64(u64), visit_i64(i64), visit_f64(f64));

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.take_map(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        self.0.take_seq(seq)
    }
}
