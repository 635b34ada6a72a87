//! One codec for each type: as one value among others, or alone in a row.

use super::wire::{Decoder, Encoder};
use crate::error::Result;

/// A value among others, whose reader knows what comes next.
pub(crate) trait Codec: Sized {
    /// Puts the value behind those before it.
    fn put(&self, out: &mut Encoder);

    /// Takes the value from in front of those after it.
    fn take(from: &mut Decoder<'_>) -> Result<Self>;
}

/// The value of a row: a version, then the fields. Among other values it has its length before it.
pub(crate) trait StoredValue: Sized {
    /// File and table, for errors.
    const PLACE: &'static str;
    /// The newest version that is read. A later one is refused, and is not damage.
    const NEWEST: u8 = 1;

    /// The first version that can hold this value.
    fn version(&self) -> u8 {
        1
    }

    /// Puts the fields behind the version.
    fn put_fields(&self, out: &mut Encoder);

    /// Takes the fields of this version.
    fn take_fields(from: &mut Decoder<'_>, version: u8) -> Result<Self>;

    /// The bytes of the row.
    fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::new(self.version());
        self.put_fields(&mut out);
        out.finish()
    }

    /// The value of a row.
    ///
    /// Errors: the bytes are damaged, or of a later version.
    fn decode(bytes: &[u8]) -> Result<Self> {
        let version = bytes.first().map_or(1, |found| *found);
        let version = version.clamp(1, Self::NEWEST);
        let mut from = Decoder::new(bytes, version, Self::PLACE)?;
        let value = Self::take_fields(&mut from, version)?;
        from.finish()?;
        Ok(value)
    }
}

impl<T: StoredValue> Codec for T {
    fn put(&self, out: &mut Encoder) {
        self.encode().put(out);
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        Self::decode(from.bytes()?)
    }
}

/// Implements [`Codec`] for a type: for a struct by its fields, for an enum by its variants, each
/// with its number, and by the fields of each; in the order in which they are written here.
macro_rules! codec {
    (struct $name:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::codec::Codec for $name {
            fn put(&self, out: &mut $crate::codec::Encoder) {
                $($crate::codec::Codec::put(&self.$field, out);)+
            }

            fn take(from: &mut $crate::codec::Decoder<'_>) -> $crate::error::Result<Self> {
                $(let $field = $crate::codec::Codec::take(from)?;)+
                Ok(Self { $($field),+ })
            }
        }
    };
    (enum $name:ident, $expected:literal {
        $($number:literal => $variant:ident
            $(($($value:ident),+))? $({ $($field:ident),+ })?),+ $(,)?
    }) => {
        impl $crate::codec::Codec for $name {
            fn put(&self, out: &mut $crate::codec::Encoder) {
                match self {
                    $(Self::$variant $(($($value),+))? $({ $($field),+ })? => {
                        out.put_u8($number);
                        $($($crate::codec::Codec::put($value, out);)+)?
                        $($($crate::codec::Codec::put($field, out);)+)?
                    })+
                }
            }

            fn take(from: &mut $crate::codec::Decoder<'_>) -> $crate::error::Result<Self> {
                Ok(match from.u8()? {
                    $($number => {
                        $($(let $value = $crate::codec::Codec::take(from)?;)+)?
                        $($(let $field = $crate::codec::Codec::take(from)?;)+)?
                        Self::$variant $(($($value),+))? $({ $($field),+ })?
                    })+
                    _ => return Err(from.error($expected)),
                })
            }
        }
    };
}

/// Implements [`StoredValue`] for a struct that has one version, by its fields in this order.
macro_rules! stored_value {
    ($name:ident, $place:literal { $($field:ident),+ $(,)? }) => {
        impl $crate::codec::StoredValue for $name {
            const PLACE: &'static str = $place;

            fn put_fields(&self, out: &mut $crate::codec::Encoder) {
                $($crate::codec::Codec::put(&self.$field, out);)+
            }

            fn take_fields(
                from: &mut $crate::codec::Decoder<'_>,
                _: u8,
            ) -> $crate::error::Result<Self> {
                $(let $field = $crate::codec::Codec::take(from)?;)+
                Ok(Self { $($field),+ })
            }
        }
    };
}

pub(crate) use codec;
pub(super) use stored_value;

impl Codec for u64 {
    fn put(&self, out: &mut Encoder) {
        out.put_integer(*self);
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        from.integer()
    }
}

impl Codec for bool {
    fn put(&self, out: &mut Encoder) {
        out.put_u8(u8::from(*self));
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        match from.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(from.error("0 or 1")),
        }
    }
}

impl Codec for String {
    fn put(&self, out: &mut Encoder) {
        out.put_text(self);
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        from.text().map(str::to_owned)
    }
}

/// Bytes whose number the reader knows.
impl<const N: usize> Codec for [u8; N] {
    fn put(&self, out: &mut Encoder) {
        out.put_raw(self);
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        from.array()
    }
}

/// Bytes, their number before them.
impl Codec for Vec<u8> {
    fn put(&self, out: &mut Encoder) {
        out.put_bytes(self);
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        from.bytes().map(<[u8]>::to_vec)
    }
}

/// Values, their number before them.
impl<T: Codec> Codec for Vec<T> {
    fn put(&self, out: &mut Encoder) {
        out.put_integer(self.len() as u64);
        for value in self {
            value.put(out);
        }
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        let count = from.integer()?;
        // Read one by one: a damaged count meets the end of the bytes before it costs memory.
        let mut values = Self::new();
        for _ in 0..count {
            values.push(T::take(from)?);
        }
        Ok(values)
    }
}

/// 0, or 1 and the value.
impl<T: Codec> Codec for Option<T> {
    fn put(&self, out: &mut Encoder) {
        out.put_option(self.as_ref(), |out, value| value.put(out));
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        from.option(T::take)
    }
}

impl<A: Codec, B: Codec> Codec for (A, B) {
    fn put(&self, out: &mut Encoder) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        Ok((A::take(from)?, B::take(from)?))
    }
}

impl<A: Codec, B: Codec, C: Codec> Codec for (A, B, C) {
    fn put(&self, out: &mut Encoder) {
        self.0.put(out);
        self.1.put(out);
        self.2.put(out);
    }

    fn take(from: &mut Decoder<'_>) -> Result<Self> {
        Ok((A::take(from)?, B::take(from)?, C::take(from)?))
    }
}
