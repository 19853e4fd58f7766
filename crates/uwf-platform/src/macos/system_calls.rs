//! The calls of macOS that no safe crate has: the only unsafe code of uwf.
#![expect(unsafe_code, reason = "libproc and sysctl fill buffers of the caller")]

use std::cell::RefCell;
use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::ptr::null_mut;

use libc::{proc_bsdshortinfo, proc_fdinfo, proc_taskinfo, vnode_info};

use crate::SignalMasks;
use crate::arguments::ProcessWords;

/// Selects all processes (`PROC_ALL_PIDS`).
const ALL: u32 = 1;

/// Flavor of [`UniqueIds`] (`PROC_PIDUNIQIDENTIFIERINFO`).
const UNIQUE_IDS: c_int = 17;

/// Flavor of an open file with its inode (`PROC_PIDFDVNODEINFO`).
const FILE_INODE: c_int = 1;

/// Type of a descriptor of a file (`PROX_FDTYPE_VNODE`).
const FILE: u32 = 1;

/// Signals of macOS: 1 to 31.
const SIGNALS: c_int = 31;

/// Room for processes and descriptors that appear between two calls.
const SLACK: usize = 64;

/// `struct proc_uniqidentifierinfo`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct UniqueIds {
    _program: [u8; 16],
    /// Unique id of the process, never used again until the next boot.
    pub(super) own: u64,
    /// Unique id of the process that created it.
    pub(super) parent_at_birth: u64,
    _versions: [u32; 2],
    _reserved: [u64; 2],
}

/// `struct vnode_fdinfo`.
#[repr(C)]
struct OpenInode {
    _flags: [u32; 2],
    _offset: i64,
    _type: i32,
    _guard: u32,
    inode: vnode_info,
}

fn id(pid: u32) -> c_int {
    c_int::try_from(pid).unwrap_or(-1)
}

/// A structure that the system fills for a process; `None` if it fills another number of bytes.
///
/// # Safety
/// Every pattern of bytes must be a valid `T`.
unsafe fn info<T>(pid: u32, flavor: c_int) -> Option<T> {
    let mut filled = MaybeUninit::<T>::uninit();
    let size = c_int::try_from(size_of::<T>()).ok()?;
    // SAFETY: the buffer has `size` bytes, and the value is read only if the system says that it has written them all.
    unsafe {
        let written = libc::proc_pidinfo(id(pid), flavor, 0, filled.as_mut_ptr().cast::<c_void>(), size);
        (written == size).then(|| filled.assume_init())
    }
}

/// Facts that every process shows; `None` if it is dead.
pub(super) fn bsd_info(pid: u32) -> Option<proc_bsdshortinfo> {
    // SAFETY: it has only numbers.
    let found = unsafe { info::<proc_bsdshortinfo>(pid, libc::PROC_PIDT_SHORTBSDINFO) };
    found.filter(|info| info.pbsi_status != libc::SZOMB)
}

pub(super) fn unique_ids(pid: u32) -> Option<UniqueIds> {
    // SAFETY: it has only numbers.
    unsafe { info(pid, UNIQUE_IDS) }
}

/// Bytes of memory that a process uses.
pub(super) fn memory(pid: u32) -> Option<u64> {
    // SAFETY: it has only numbers.
    unsafe { info::<proc_taskinfo>(pid, libc::PROC_PIDTASKINFO) }.map(|info| info.pti_resident_size)
}

/// Ids of all processes.
pub(super) fn all_processes() -> Option<Vec<u32>> {
    // SAFETY: without a buffer, the call returns the bytes that it needs.
    let needed = usize::try_from(unsafe { libc::proc_listpids(ALL, 0, null_mut(), 0) }).ok()?;
    let mut pids = vec![0u32; needed / size_of::<u32>() + SLACK];
    let size = c_int::try_from(pids.len() * size_of::<u32>()).ok()?;
    // SAFETY: the buffer has `size` bytes.
    let written = usize::try_from(unsafe { libc::proc_listpids(ALL, 0, pids.as_mut_ptr().cast(), size) }).ok()?;
    pids.truncate(written / size_of::<u32>());
    pids.retain(|pid| *pid != 0);
    (!pids.is_empty()).then_some(pids)
}

/// The open files of a process; `None` if it has ended.
///
/// # Errors
/// When the process belongs to another user.
pub(super) fn open_files(pid: u32) -> io::Result<Option<Vec<i32>>> {
    let call = |buffer: *mut c_void, size: usize| {
        let size = c_int::try_from(size).unwrap_or(c_int::MAX);
        // SAFETY: the buffer has `size` bytes, or is null and has none.
        let written = unsafe { libc::proc_pidinfo(id(pid), libc::PROC_PIDLISTFDS, 0, buffer, size) };
        match io::Error::last_os_error() {
            error if written <= 0 && error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
            error if written <= 0 => Err(error),
            _ => Ok(usize::try_from(written).ok()),
        }
    };
    let Some(needed) = call(null_mut(), 0)? else { return Ok(None) };
    let mut files = vec![proc_fdinfo { proc_fd: -1, proc_fdtype: 0 }; needed / size_of::<proc_fdinfo>() + SLACK];
    let size = files.len() * size_of::<proc_fdinfo>();
    let Some(written) = call(files.as_mut_ptr().cast(), size)? else { return Ok(None) };
    files.truncate(written / size_of::<proc_fdinfo>());
    Ok(Some(files.into_iter().filter(|file| file.proc_fdtype == FILE).map(|file| file.proc_fd).collect()))
}

/// Device and inode of an open file; `None` if it was closed meanwhile.
pub(super) fn device_and_inode(pid: u32, file: i32) -> Option<(u32, u64)> {
    let mut filled = MaybeUninit::<OpenInode>::uninit();
    let size = c_int::try_from(size_of::<OpenInode>()).ok()?;
    // SAFETY: the buffer has `size` bytes, has only numbers, and is read only if the system has written them all.
    let found = unsafe {
        let written = libc::proc_pidfdinfo(id(pid), file, FILE_INODE, filled.as_mut_ptr().cast(), size);
        (written == size).then(|| filled.assume_init())
    }?;
    Some((found.inode.vi_stat.vst_dev, found.inode.vi_stat.vst_ino))
}

/// Arguments and environment of a process, as far as the system shows them.
pub(super) fn words(pid: u32) -> ProcessWords {
    thread_local! {
        // The most that they can have, because the system rejects a smaller buffer. Used again, as there are hundreds of processes.
        static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; argument_limit()]);
    }
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, id(pid)];
    BUFFER.with_borrow_mut(|bytes| {
        let mut size = bytes.len();
        let length = name.len() as u32;
        // SAFETY: `name` has `length` numbers, and the buffer has `size` bytes.
        let done =
            unsafe { libc::sysctl(name.as_mut_ptr(), length, bytes.as_mut_ptr().cast(), &raw mut size, null_mut(), 0) };
        // Another user's process shows none.
        if done == 0 { ProcessWords::of_buffer(&bytes[..size.min(bytes.len())]) } else { ProcessWords::default() }
    })
}

fn argument_limit() -> usize {
    const USUAL: usize = 1 << 20;
    // SAFETY: it only reads a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_ARG_MAX) }).unwrap_or(USUAL)
}

/// A text of the system, by its name.
pub(super) fn sysctl_text(name: &CStr) -> io::Result<String> {
    let mut bytes = [0u8; 128];
    let mut size = bytes.len();
    // SAFETY: the name ends with a zero, and the buffer has `size` bytes.
    let done = unsafe { libc::sysctlbyname(name.as_ptr(), bytes.as_mut_ptr().cast(), &raw mut size, null_mut(), 0) };
    if done != 0 {
        let error = io::Error::last_os_error();
        return Err(io::Error::new(error.kind(), format!("cannot read {}: {error}", name.to_string_lossy())));
    }
    let text = String::from_utf8_lossy(&bytes[..size.min(bytes.len())]).into_owned();
    Ok(text.trim_end_matches('\0').to_owned())
}

/// Frees a range of an open file, if its file system can.
pub(super) fn punch(file: RawFd, from: u64, length: u64) {
    let (Ok(fp_offset), Ok(fp_length)) = (from.try_into(), length.try_into()) else { return };
    let range = libc::fpunchhole_t { fp_flags: 0, reserved: 0, fp_offset, fp_length };
    // SAFETY: the range lives during the call. If it fails, the file keeps its bytes.
    let _ = unsafe { libc::fcntl(file, libc::F_PUNCHHOLE, &raw const range) };
}

/// Reserves space after the end of a file, without changing its length.
pub(super) fn preallocate(file: RawFd, length: u64) -> io::Result<()> {
    let store = libc::fstore_t {
        // Everything or nothing.
        fst_flags: libc::F_ALLOCATEALL,
        fst_posmode: libc::F_PEOFPOSMODE,
        fst_offset: 0,
        fst_length: length.try_into().map_err(io::Error::other)?,
        fst_bytesalloc: 0,
    };
    // SAFETY: the request lives during the call.
    match unsafe { libc::fcntl(file, libc::F_PREALLOCATE, &raw const store) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Signals that this process handles.
pub(super) fn signals() -> SignalMasks {
    let mut masks = SignalMasks::default();
    for signal in 1..=SIGNALS {
        let mut action = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: without a new action, the call only fills the buffer with the present one, which is read only if it did.
        let handler = unsafe {
            let read = libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
            if read != 0 {
                continue;
            }
            action.assume_init().sa_sigaction
        };
        let bit = 1 << (signal - 1);
        match handler {
            libc::SIG_DFL => {}
            libc::SIG_IGN => masks.ignored |= bit,
            _ => masks.caught |= bit,
        }
    }
    masks
}
