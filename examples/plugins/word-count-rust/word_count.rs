//! Counts the words of {"text": "..."}: the example in Rust, without any crate.
//!
//! It does without the standard library, too: the panic handler of that reads the environment and files,
//! and a scan sees that it could. What is left of the system here is malloc and free.
#![no_std]

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(place: *mut c_void);
    fn abort() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { abort() }
}

const ABI: u32 = 1;

#[repr(C)]
pub struct Info {
    struct_size: u32,
    abi: u32,
    name: *const c_char,
    version: *const c_char,
}

#[repr(C)]
pub struct Buf {
    data: *mut u8,
    len: u64,
}

/// What can go wrong.
const PROBLEMS: [&str; 4] = [
    "",
    "the host's ds_info is too small",
    "the input has no \"text\"",
    "out of memory",
];
static PROBLEM: AtomicUsize = AtomicUsize::new(0);

fn failed(what: usize) -> i32 {
    PROBLEM.store(what, Ordering::Relaxed);
    1
}

/// Hand out a copy of these bytes; false: there is no memory.
unsafe fn hand_out(out: *mut Buf, bytes: &[u8]) -> bool {
    let place = malloc(bytes.len().max(1)) as *mut u8;
    if place.is_null() {
        return false;
    }
    core::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
    (*out).data = place;
    (*out).len = bytes.len() as u64;
    true
}

/// Words between the quotes of the first "text": "..."; escapes count as letters. None: there is no text.
fn words_of(input: &[u8]) -> Option<u64> {
    let key = b"\"text\"";
    let at = input.windows(key.len()).position(|part| part == key)? + key.len();
    let mut rest = input.get(at..)?.iter();
    rest.find(|letter| **letter == b'"')?;
    let (mut words, mut inside, mut escaped) = (0, false, false);
    for letter in rest {
        match (*letter, escaped) {
            (b'"', false) => return Some(words),
            (b'\\', false) => escaped = true,
            _ => escaped = false,
        }
        let space = matches!(*letter, b' ' | b'\t');
        words += u64::from(!space && !inside);
        inside = !space;
    }
    None
}

/// `{"words": N}` in digits.
fn answer(words: u64, into: &mut [u8; 40]) -> &[u8] {
    let mut digits = [0u8; 20];
    let mut left = words;
    let mut count = 0;
    for place in digits.iter_mut().rev() {
        *place = b'0' + (left % 10) as u8;
        left /= 10;
        count += 1;
        if left == 0 {
            break;
        }
    }
    let parts: [&[u8]; 3] = [b"{\"words\": ", digits.get(20 - count..).unwrap_or(&[]), b"}"];
    let mut length = 0;
    for (place, byte) in into.iter_mut().zip(parts.iter().copied().flatten()) {
        *place = *byte;
        length += 1;
    }
    into.get(..length).unwrap_or(&[])
}

#[no_mangle]
pub extern "C" fn ds_plugin_abi() -> u32 {
    ABI
}

/// # Safety
/// `out` is the host's, and as long as its `struct_size` says.
#[no_mangle]
pub unsafe extern "C" fn ds_plugin_info(out: *mut Info) -> i32 {
    if (*out).struct_size < core::mem::size_of::<Info>() as u32 {
        return failed(1);
    }
    (*out).name = c"word-count".as_ptr();
    (*out).version = c"1.0.0".as_ptr();
    0
}

#[no_mangle]
pub extern "C" fn ds_step_init(_config: *const u8, _len: u64, _host: *const u8) -> i32 {
    0
}

/// # Safety
/// `input` has `len` bytes, `out` is the host's.
#[no_mangle]
pub unsafe extern "C" fn ds_step_run(input: *const u8, len: u64, out: *mut Buf) -> i32 {
    let Some(words) = words_of(core::slice::from_raw_parts(input, len as usize)) else {
        return failed(2);
    };
    let mut space = [0u8; 40];
    if hand_out(out, answer(words, &mut space)) { 0 } else { failed(3) }
}

#[no_mangle]
pub extern "C" fn ds_step_shutdown() {}

/// # Safety
/// `buf` was filled by this plugin.
#[no_mangle]
pub unsafe extern "C" fn ds_buf_free(buf: *mut Buf) {
    free((*buf).data as *mut c_void);
    (*buf).data = core::ptr::null_mut();
    (*buf).len = 0;
}

/// # Safety
/// `out` is the host's.
#[no_mangle]
pub unsafe extern "C" fn ds_last_error(out: *mut Buf) {
    let text = PROBLEMS.get(PROBLEM.load(Ordering::Relaxed)).unwrap_or(&"");
    hand_out(out, text.as_bytes());
}
