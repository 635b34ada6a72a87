//! Encoder and decoder of bytes, integers, texts and options in sequence.

use crate::error::{Error, Result};

/// Writer of values one after another, without names or types: the version defines their order.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    /// An encoder that begins with the version of the value's format.
    pub(crate) fn new(version: u8) -> Self {
        Self {
            bytes: vec![version],
        }
    }

    /// An encoder that begins with the version, in the memory of an earlier value.
    pub(crate) fn reuse(mut bytes: Vec<u8>, version: u8) -> Self {
        bytes.clear();
        bytes.push(version);
        Self { bytes }
    }

    /// The finished bytes.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn put_u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Puts 7 bits per byte, least significant first; the high bit says that more follow. Small
    /// numbers are short.
    pub(crate) fn put_integer(&mut self, mut value: u64) {
        while 0x80 <= value {
            self.bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Puts a signed integer in zigzag form, in which small numbers of either sign are short.
    pub(crate) fn put_signed(&mut self, value: i64) {
        self.put_integer(((value << 1) ^ (value >> 63)) as u64);
    }

    /// Puts bytes of a length that the reader knows.
    pub(crate) fn put_raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Puts the length of bytes, then the bytes.
    pub(crate) fn put_bytes(&mut self, bytes: &[u8]) {
        self.put_integer(bytes.len() as u64);
        self.put_raw(bytes);
    }

    /// Puts the length of a text, then its bytes.
    pub(crate) fn put_text(&mut self, text: &str) {
        self.put_bytes(text.as_bytes());
    }

    /// Puts 0, or 1 and the value.
    pub(crate) fn put_option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        match value {
            None => self.put_u8(0),
            Some(value) => {
                self.put_u8(1);
                put(self, value);
            }
        }
    }
}

/// Reader of values one after another.
///
/// Errors of all methods: [`Error::Corrupt`] with the name given to `new` and the byte in
/// the value.
#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    bytes: &'a [u8],
    offset: usize,
    /// File and table of the value, for errors.
    name: &'static str,
}

impl<'a> Decoder<'a> {
    /// A decoder of bytes that begin with the version of the value's format.
    ///
    /// Errors: [`Error::NewerValue`] if the version is a later one: that is not damage, and is not
    /// treated as such.
    pub(crate) fn new(bytes: &'a [u8], version: u8, name: &'static str) -> Result<Self> {
        let mut decoder = Self {
            bytes,
            offset: 0,
            name,
        };
        let found = decoder.u8()?;
        if version < found {
            return Err(Error::NewerValue {
                place: name,
                found,
                supported: version,
            });
        }
        if found < version {
            return Err(decoder.error("a known version of the value's format"));
        }
        Ok(decoder)
    }

    /// An error at the end of the last value that was taken.
    pub(crate) fn error(&self, expected: &'static str) -> Error {
        Error::corrupt(self.name, self.offset as u64, expected)
    }

    /// Fails if bytes are left over: then they are not what the encoder wrote.
    pub(crate) fn finish(self) -> Result<()> {
        if self.offset != self.bytes.len() {
            return Err(self.error("the end of the value"));
        }
        Ok(())
    }

    /// Returns true if no bytes are left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.offset == self.bytes.len()
    }

    pub(crate) fn raw(&mut self, bytes_count: usize) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.offset..];
        let Some(taken) = rest.get(..bytes_count) else {
            return Err(self.error("a value that is whole"));
        };
        self.offset += bytes_count;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.raw(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn integer(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            // Bits that would be shifted out: the integer has more than 64.
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.error("an integer of at most 64 bits"))
    }

    pub(crate) fn signed(&mut self) -> Result<i64> {
        let zigzag = self.integer()?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    /// An integer of a smaller type.
    pub(crate) fn small<T: TryFrom<u64>>(&mut self, expected: &'static str) -> Result<T> {
        let value = self.integer()?;
        T::try_from(value).map_err(|_| self.error(expected))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let bytes_count = self.small("a length that fits the value")?;
        self.raw(bytes_count)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| self.error("text in UTF-8"))
    }

    pub(crate) fn option<T>(
        &mut self,
        take: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        match self.u8()? {
            0 => Ok(None),
            1 => take(self).map(Some),
            _ => Err(self.error("0 or 1 before an optional value")),
        }
    }

    /// A parsed value; fails if parsing refused it.
    pub(crate) fn parsed<T>(&self, value: Option<T>, expected: &'static str) -> Result<T> {
        value.ok_or_else(|| self.error(expected))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_put_is_taken(a: u64, b: i64, text: String, c: Option<u64>) {
            let mut encoder = Encoder::new(7);
            encoder.put_integer(a);
            encoder.put_signed(b);
            encoder.put_text(&text);
            encoder.put_option(c, Encoder::put_integer);
            let bytes = encoder.finish();
            let mut decoder = Decoder::new(&bytes, 7, "test").unwrap();
            prop_assert_eq!(decoder.integer().unwrap(), a);
            prop_assert_eq!(decoder.signed().unwrap(), b);
            prop_assert_eq!(decoder.text().unwrap(), text);
            prop_assert_eq!(decoder.option(Decoder::integer).unwrap(), c);
            prop_assert!(decoder.finish().is_ok());
        }

        #[test]
        fn any_bytes_are_a_value_or_an_error(bytes: Vec<u8>) {
            let Ok(mut decoder) = Decoder::new(&bytes, 1, "test") else { return Ok(()) };
            while decoder.text().is_ok() && decoder.integer().is_ok() {}
        }
    }

    #[test]
    fn an_integer_of_more_than_64_bits_is_refused() {
        let mut bytes = vec![1];
        bytes.extend([0xff; 9]);
        bytes.push(1);
        let whole = Decoder::new(&bytes, 1, "test").unwrap().integer();
        assert_eq!(whole.unwrap(), u64::MAX);
        bytes[10] = 2;
        assert!(Decoder::new(&bytes, 1, "test").unwrap().integer().is_err());
    }
}
