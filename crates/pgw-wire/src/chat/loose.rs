//! JSON leaves and branches that accept whatever comes.
//!
//! Services send `null` for lists, strings for numbers and objects for strings. A typed decoder would
//! refuse the whole chunk and hide why (0xPlaygrounds/rig#1662); these types take anything in one pass
//! and let the reader ask for what it can use.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{
        self, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_json::Value;

/// Any JSON value; text is borrowed where it has no escapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Leaf<'a> {
    /// Absent or `null`.
    #[default]
    Null,
    /// A string.
    Text(Cow<'a, str>),
    /// Anything else.
    Other(Value),
}

impl<'a> Leaf<'a> {
    pub(crate) const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The text, if it is one and not empty.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            Self::Text(_) | Self::Null | Self::Other(_) => None,
        }
    }

    /// A count: a number, or a number written as a string.
    pub(crate) fn count(&self) -> Option<u64> {
        match self {
            Self::Null => None,
            Self::Text(text) => text.trim().parse().ok(),
            Self::Other(value) => value.as_u64().or_else(|| {
                let float = value.as_f64().filter(|float| *float >= 0.0)?;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a token count written as 12.0; the sign is checked"
                )]
                let count = float as u64;
                Some(count)
            }),
        }
    }

    pub(crate) fn integer(&self) -> Option<i64> {
        match self {
            Self::Other(value) => value.as_i64(),
            Self::Text(text) => text.parse().ok(),
            Self::Null => None,
        }
    }

    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Text(text) => Value::String(text.into_owned()),
            Self::Other(value) => value,
        }
    }

    /// The text as the caller gets it; the copy is the only one made of it.
    pub(crate) fn into_text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            Self::Text(_) | Self::Null | Self::Other(_) => None,
        }
    }
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
        Ok(Leaf::Other(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Leaf<'a>, E> {
        Ok(Leaf::Other(value.into()))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Leaf<'a>, E> {
        Ok(Leaf::Other(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Leaf<'a>, E> {
        Ok(Leaf::Other(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Leaf<'a>, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(seq)).map(Leaf::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Leaf<'a>, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(map)).map(Leaf::Other)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Leaf<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LeafVisitor(PhantomData))
    }
}

/// An object, or nothing if something else came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Branch<T>(pub(crate) Option<T>);

impl<T> Default for Branch<T> {
    fn default() -> Self {
        Self(None)
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

/// Visits a value of any shape, taking only maps (as `M`) or sequences.
struct ShapeVisitor<T, const LIST: bool>(PhantomData<T>);

enum Shape<T> {
    One(T),
    Many(Vec<T>),
    None,
}

macro_rules! ignore {
    ($($name:ident($kind:ty)),*) => {
        $(fn $name<E: de::Error>(self, _: $kind) -> Result<Self::Value, E> { Ok(Shape::None) })*
    };
}

impl<'de, T: Deserialize<'de>, const LIST: bool> Visitor<'de> for ShapeVisitor<T, LIST> {
    type Value = Shape<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    ignore!(
        visit_str(&str),
        visit_bool(bool),
        visit_u64(u64),
        visit_i64(i64),
        visit_f64(f64)
    );

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Shape::None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        if LIST {
            de::IgnoredAny::deserialize(MapAccessDeserializer::new(map))?;
            return Ok(Shape::None);
        }
        T::deserialize(MapAccessDeserializer::new(map)).map(Shape::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        if !LIST {
            de::IgnoredAny::deserialize(SeqAccessDeserializer::new(seq))?;
            return Ok(Shape::None);
        }
        let mut items = Vec::new();
        while let Some(Branch(item)) = seq.next_element::<Branch<T>>()? {
            items.extend(item);
        }
        Ok(Shape::Many(items))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Branch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(
            match deserializer.deserialize_any(ShapeVisitor::<T, false>(PhantomData))? {
                Shape::One(value) => Some(value),
                Shape::Many(_) | Shape::None => None,
            },
        ))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(
            match deserializer.deserialize_any(ShapeVisitor::<T, true>(PhantomData))? {
                Shape::Many(items) => items,
                Shape::One(_) | Shape::None => Vec::new(),
            },
        ))
    }
}
