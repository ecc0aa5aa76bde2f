//! Every coding, cut at every place that matters, without a socket.

use std::io::Write as _;

use compression_codecs::brotli::params::EncoderParams;
use compression_codecs::{BrotliEncoder, EncodeV2, ZstdEncoder};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::*;

/// Decodes `pieces` as they come, telling what each of them brought.
fn decode(coding: Coding, pieces: &[&[u8]]) -> Result<Vec<Vec<u8>>, HttpError> {
    let mut decoder = Decoder::new(coding);
    let mut brought = Vec::new();
    for piece in pieces {
        decoder.feed(Bytes::copy_from_slice(piece));
        let mut out = Vec::new();
        while let Some(decoded) = decoder.next_piece()? {
            assert!(!decoded.is_empty() && decoded.len() <= PIECE);
            out.extend_from_slice(&decoded);
        }
        brought.push(out);
    }
    let mut rest = Vec::new();
    while let Some(decoded) = decoder.finish()? {
        rest.extend_from_slice(&decoded);
    }
    brought.push(rest);
    Ok(brought)
}

fn whole(coding: Coding, pieces: &[&[u8]]) -> Result<Vec<u8>, HttpErrorKind> {
    decode(coding, pieces).map(|brought| brought.concat()).map_err(|error| error.kind())
}

/// Compresses `events`, flushing after each; tells where each flush ended.
fn flushed(mut encoder: impl EncodeV2, events: &[&[u8]]) -> (Vec<u8>, Vec<usize>) {
    let mut space = vec![0; 2 * events.concat().len() + 4096];
    let mut output = WriteBuffer::new_initialized(&mut space);
    let mut ends = Vec::new();
    for event in events {
        let mut input = PartialBuffer::new(*event);
        while !input.unwritten().is_empty() {
            encoder.encode(&mut input, &mut output).unwrap();
        }
        while !encoder.flush(&mut output).unwrap() {}
        ends.push(output.written_len());
    }
    while !encoder.finish(&mut output).unwrap() {}
    (output.written().to_vec(), ends)
}

fn brotli() -> BrotliEncoder {
    BrotliEncoder::new(EncoderParams::default())
}

fn compress(coding: Coding, plain: &[u8]) -> Vec<u8> {
    match coding {
        Coding::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        Coding::Deflate => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        Coding::Brotli => flushed(brotli(), &[plain]).0,
        Coding::Zstd => flushed(ZstdEncoder::new(3), &[plain]).0,
    }
}

const CODINGS: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    })
    .take(length)
    .collect()
}

#[test]
fn whatever_the_pieces_the_whole_is_the_same() {
    // Sizes around the piece, where a codec may hold a rest that no further input announces.
    for length in [1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 5 * PIECE, 300_000] {
        for plain in [vec![b'a'; length], noise(length)] {
            for coding in CODINGS {
                let packed = compress(coding, &plain);
                // Byte by byte is dear and shows nothing more on the long ones.
                let sizes = [1, 7, 4096, packed.len()];
                let dear = |size: &usize| *size < 10 && packed.len() > 20_000;
                for size in sizes.into_iter().filter(|size| !dear(size)) {
                    let pieces: Vec<_> = packed.chunks(size).collect();
                    assert!(
                        whole(coding, &pieces).as_ref() == Ok(&plain),
                        "{coding:?}, {length} bytes by {size}"
                    );
                }
            }
        }
    }
}

#[test]
fn bare_deflate_is_understood() {
    for plain in [b"hello hello hello".to_vec(), noise(100_000), Vec::new()] {
        for level in [0, 1, 9] {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(level));
            encoder.write_all(&plain).unwrap();
            let packed = encoder.finish().unwrap();
            let pieces: Vec<_> = packed.chunks(3).collect();
            assert!(whole(Coding::Deflate, &pieces).as_ref() == Ok(&plain), "level {level}");
        }
    }
}

#[test]
fn what_was_flushed_is_handed_out_at_once() {
    for length in [20, PIECE, 3 * PIECE] {
        let events: [&[u8]; 2] = [&vec![b'x'; length], &noise(length)];
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        let gzip_ends = events.map(|event| {
            gzip.write_all(event).unwrap();
            gzip.flush().unwrap();
            gzip.get_ref().len()
        });
        for (coding, (packed, ends)) in [
            (Coding::Gzip, (gzip.finish().unwrap(), gzip_ends.to_vec())),
            (Coding::Brotli, flushed(brotli(), &events)),
            (Coding::Zstd, flushed(ZstdEncoder::new(3), &events)),
        ] {
            let pieces = [&packed[..ends[0]], &packed[ends[0]..ends[1]], &packed[ends[1]..]];
            let brought = decode(coding, &pieces).unwrap();
            assert!(brought[..2] == events, "{coding:?}, {length} bytes");
        }
    }
}

#[test]
fn a_cut_stream_is_truncated_wherever_it_is_cut() {
    let plain = noise(3000);
    for coding in CODINGS {
        let packed = compress(coding, &plain);
        for end in 1..packed.len() {
            assert_eq!(
                whole(coding, &[&packed[..end]]),
                Err(HttpErrorKind::Truncated),
                "{coding:?} cut at {end} of {}",
                packed.len()
            );
        }
        assert_eq!(whole(coding, &[]), Ok(Vec::new()), "an empty body is complete");
    }
}

#[test]
fn what_is_not_compressed_is_an_error() {
    for coding in [Coding::Gzip, Coding::Zstd] {
        assert_eq!(
            whole(coding, &[b"{\"error\":\"plain text\"}"]),
            Err(HttpErrorKind::Decompression)
        );
    }
    let mut packed = compress(Coding::Gzip, b"checked");
    let checksum = packed.len() - 8;
    packed[checksum] ^= 1;
    assert_eq!(whole(Coding::Gzip, &[&packed]), Err(HttpErrorKind::Decompression));
}

#[test]
fn several_members_are_one_body_and_rubbish_behind_is_an_error() {
    for coding in CODINGS {
        let twice = [compress(coding, b"one "), compress(coding, b"two")].concat();
        let expected = if coding.concatenates() {
            Ok(b"one two".to_vec())
        } else {
            Err(HttpErrorKind::Decompression)
        };
        assert_eq!(whole(coding, &[&twice]), expected, "{coding:?}");
        let mut rubbish = compress(coding, b"one");
        rubbish.extend_from_slice(b"rubbish");
        assert_eq!(whole(coding, &[&rubbish]), Err(HttpErrorKind::Decompression), "{coding:?}");
    }
}

#[test]
fn only_one_known_coding_is_undone() {
    let of = |values: &[&'static str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(CONTENT_ENCODING, http::HeaderValue::from_static(value));
        }
        Coding::of(&headers)
    };
    assert_eq!(of(&["GZIP"]), Some(Coding::Gzip));
    assert_eq!(of(&["x-gzip"]), Some(Coding::Gzip));
    assert_eq!(of(&["br"]), Some(Coding::Brotli));
    assert_eq!(of(&["identity"]), None);
    assert_eq!(of(&["gzip, br"]), None);
    assert_eq!(of(&["gzip", "br"]), None);
    assert_eq!(of(&[]), None);
}
