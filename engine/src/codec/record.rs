//! A stored record: a version byte, a byte of flags, then the fields in order.
//!
//! Equal records have equal bytes, and different records have different ones: an import skips
//! unchanged records by comparing bytes. So the encoder has one form for each value.

use super::wire::{Decoder, Encoder};
use crate::error::Result;
use crate::model::{
    CatalogId, FileName, FlagSet, Language, Number, Record, RecordFlags, RecordId, ReleaseId,
    Timestamp, VideoType, Year,
};

/// Version of the format of a stored record.
const VERSION: u8 = 1;

const IS_EPISODE: u8 = 1;
const IS_ACTIVE: u8 = 2;
const HAS_SEASON: u8 = 4;
const HAS_EPISODE: u8 = 8;
const HAS_YEAR: u8 = 16;
const HAS_LANGUAGE: u8 = 32;
const HAS_FLAGS: u8 = 64;
const KNOWN_FLAGS: u8 = 127;

/// Bits for the flags that players ask about.
const FLAG_BITS: u32 = 3;

/// Bytes of a record without its id, which is their row key. `memory` is reused: an import encodes
/// millions of records.
pub fn encode_record(record: &Record, memory: Vec<u8>) -> Vec<u8> {
    let mut out = Encoder::reuse(memory, VERSION);
    // Nearly all records are Spanish: their language takes no byte.
    let is_spanish = record.language.as_str() == "es";
    let known_flags = record.flags.known().bits();
    out.put_u8(
        flag(IS_EPISODE, record.video_type == VideoType::Episode)
            | flag(IS_ACTIVE, record.is_active)
            | flag(HAS_SEASON, record.season.is_some())
            | flag(HAS_EPISODE, record.episode.is_some())
            | flag(HAS_YEAR, record.year.is_some())
            | flag(HAS_LANGUAGE, !is_spanish)
            | flag(HAS_FLAGS, known_flags != 0),
    );
    // Flags say which numbers follow, so that an absent one takes no byte.
    let numbers = [
        record.season.map(Number::get),
        record.episode.map(Number::get),
        record.year.map(Year::get),
    ];
    for number in numbers.into_iter().flatten() {
        out.put_integer(number.into());
    }
    out.put_signed(record.posted_at.seconds());
    out.put_integer(record.downloads.into());
    put_catalog_id(&mut out, record.catalog_id);
    put_catalog_id(&mut out, record.parent_catalog_id);
    out.put_text(&record.title);
    out.put_option(record.description.as_deref(), Encoder::put_text);
    out.put_option(record.uploader_name.as_deref(), Encoder::put_text);
    out.put_option(record.source_release_id.as_ref(), |out, release| {
        out.put_text(release.as_str());
    });
    out.put_option(record.file_name.as_ref(), |out, name| {
        out.put_text(name.as_str());
    });
    if !is_spanish {
        out.put_text(record.language.as_str());
    }
    if known_flags != 0 {
        out.put_u8(known_flags << FLAG_BITS | record.flags.set().bits());
    }
    out.finish()
}

/// Decodes the record with this id from its bytes.
///
/// Errors: [`crate::Error::Corrupt`] when they are not what [`encode_record`] makes.
pub fn decode_record(id: RecordId, bytes: &[u8]) -> Result<Record> {
    let mut from = Decoder::new(bytes, VERSION, "catalog.redb, table records")?;
    let flags = from.u8()?;
    // An unknown flag may announce a field that this program would read as another one.
    if flags & !KNOWN_FLAGS != 0 {
        return Err(from.error("flags of this version"));
    }
    let has = |bit: u8| flags & bit != 0;
    let record = Record {
        id,
        video_type: if has(IS_EPISODE) {
            VideoType::Episode
        } else {
            VideoType::Movie
        },
        is_active: has(IS_ACTIVE),
        season: number(&mut from, has(HAS_SEASON))?,
        episode: number(&mut from, has(HAS_EPISODE))?,
        year: if has(HAS_YEAR) {
            let year = from.small("a year")?;
            Some(from.parsed(Year::new(year), "a year of 1850 to 2100")?)
        } else {
            None
        },
        posted_at: {
            let seconds = from.signed()?;
            let time = Timestamp::from_seconds(seconds);
            from.parsed(time, "a time of the years 1 to 9999")?
        },
        downloads: from.small("a count below 2^32")?,
        catalog_id: catalog_id(&mut from)?,
        parent_catalog_id: catalog_id(&mut from)?,
        title: from.text()?.to_owned(),
        description: owned_text(&mut from)?,
        uploader_name: owned_text(&mut from)?,
        source_release_id: from.option(|from| {
            let text = from.text()?;
            from.parsed(ReleaseId::parse(text), "a release id")
        })?,
        file_name: from.option(|from| {
            let text = from.text()?;
            from.parsed(FileName::parse(text), "a file name")
        })?,
        language: if has(HAS_LANGUAGE) {
            let text = from.text()?;
            from.parsed(Language::parse(text), "a language tag")?
        } else {
            Language::spanish()
        },
        flags: if has(HAS_FLAGS) {
            record_flags(&mut from)?
        } else {
            RecordFlags::default()
        },
    };
    from.finish()?;
    Ok(record)
}

/// True if the record with these bytes is active. The flags follow the version, so that records are
/// counted without being decoded.
pub(crate) fn is_active(bytes: &[u8]) -> bool {
    bytes.get(1).is_some_and(|flags| flags & IS_ACTIVE != 0)
}

const fn flag(bit: u8, is_set: bool) -> u8 {
    if is_set { bit } else { 0 }
}

/// 0, or the digit count and the number: leading zeros are part of the displayed id.
fn put_catalog_id(out: &mut Encoder, id: Option<CatalogId>) {
    out.put_u8(id.map_or(0, CatalogId::digits_count));
    if let Some(id) = id {
        out.put_integer(id.number());
    }
}

fn catalog_id(from: &mut Decoder<'_>) -> Result<Option<CatalogId>> {
    let digits_count = usize::from(from.u8()?);
    if digits_count == 0 {
        return Ok(None);
    }
    let number = from.integer()?;
    let digits = format!("{number:0digits_count$}");
    // A number with more digits than stored would be another id.
    let is_as_long = digits.len() == digits_count;
    let id = CatalogId::from_digits(&digits).filter(|_| is_as_long);
    from.parsed(id, "a catalog id of 1 to 12 digits").map(Some)
}

/// The known flags, one or more, and those of them that are true.
fn record_flags(from: &mut Decoder<'_>) -> Result<RecordFlags> {
    let byte = from.u8()?;
    let known = FlagSet::from_bits(byte >> FLAG_BITS).filter(|known| known.bits() != 0);
    let set = FlagSet::from_bits(byte & ((1 << FLAG_BITS) - 1));
    let flags = known.zip(set);
    let flags = flags.and_then(|(known, set)| RecordFlags::new(known, set));
    from.parsed(flags, "flags that are known")
}

fn number(from: &mut Decoder<'_>, is_there: bool) -> Result<Option<Number>> {
    if !is_there {
        return Ok(None);
    }
    let number = from.small("a number below 65536")?;
    from.parsed(Number::new(number), "a number of at least 1")
        .map(Some)
}

fn owned_text(from: &mut Decoder<'_>) -> Result<Option<String>> {
    from.option(|from| Ok(from.text()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Flag;

    fn record() -> Record {
        Record {
            video_type: VideoType::Episode,
            season: Number::new(1),
            episode: Number::new(300),
            year: Year::new(2004),
            catalog_id: CatalogId::parse("tt0012"),
            parent_catalog_id: CatalogId::parse("tt999999999999"),
            description: Some("línea\nlínea".into()),
            uploader_name: Some("ana".into()),
            posted_at: Timestamp::from_seconds(-62_135_596_800).unwrap(),
            downloads: u32::MAX,
            source_release_id: ReleaseId::parse("a-1"),
            language: Language::parse("es-419").unwrap(),
            file_name: FileName::parse("a.srt"),
            flags: RecordFlags::default()
                .with(Flag::Forced, Some(true))
                .with(Flag::HearingImpaired, Some(false)),
            ..Record::new(RecordId::from_bytes([7; 16]), "Perdidos S01E02")
        }
    }

    fn check(record: &Record) {
        let bytes = encode_record(record, vec![1, 2, 3]);
        assert_eq!(&decode_record(record.id, &bytes).unwrap(), record);
        for cut in 0..bytes.len() {
            assert!(decode_record(record.id, &bytes[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn a_full_record_comes_back() {
        check(&record());
    }

    #[test]
    fn a_bare_record_comes_back() {
        check(&Record {
            video_type: VideoType::Movie,
            season: None,
            episode: None,
            year: None,
            catalog_id: None,
            parent_catalog_id: None,
            description: None,
            uploader_name: None,
            downloads: 0,
            is_active: false,
            source_release_id: None,
            language: Language::spanish(),
            file_name: None,
            flags: RecordFlags::default(),
            ..record()
        });
    }

    #[test]
    fn flags_take_a_byte_only_when_one_is_known() {
        let plain = Record::new(RecordId::from_bytes([7; 16]), "Ran");
        let bytes = encode_record(&plain, Vec::new());
        let mut flagged = plain;
        flagged.flags = flagged.flags.with(Flag::MachineTranslated, Some(false));
        let with_flags = encode_record(&flagged, Vec::new());
        assert_eq!(with_flags.len(), bytes.len() + 1);
        for byte in [0, 0b1, 0b1010, 0b100_1001] {
            let mut wrong = with_flags.clone();
            *wrong.last_mut().unwrap() = byte;
            assert!(decode_record(flagged.id, &wrong).is_err(), "{byte:b}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_record_or_an_error(mut bytes: Vec<u8>, is_valid_start: bool) {
            if is_valid_start {
                bytes.splice(0..0, [VERSION, KNOWN_FLAGS]);
            }
            let _ = decode_record(RecordId::from_bytes([0; 16]), &bytes);
        }
    }
}
