import { type AudioSource, type SoundFacts, type SoundReader, tailOf } from './audio-source.ts';

const ID = {
  head: 0x1a45dfa3,
  docType: 0x4282,
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  duration: 0x4489,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  trackType: 0x83,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  simpleBlock: 0xa3,
  blockGroup: 0xa0,
  block: 0xa1,
} as const;
const SOUND_TRACK = 2;
const DEFAULT_SCALE_NS = 1_000_000;
const NS_PER_SECOND = 1e9;
/** An id and a size, at their longest. */
const ELEMENT_HEAD_BYTES = 12;
const TEXT_MAX_BYTES = 64;
/** The last cluster is looked for in a larger end of the file where a small one has none. */
const TAILS_BYTES = [256 * 1024, 4 * 1024 * 1024];
/** Far more than a cluster has, which lasts 32 s at most. */
const MAX_ELEMENTS_OF_TAIL = 100_000;
const CLUSTER_MARK = Buffer.of(0x1f, 0x43, 0xb6, 0x75);

interface Element {
  readonly id: number;
  /** Where its content begins. */
  readonly body: number;
  /** Infinite where the writer did not know it. */
  readonly end: number;
}

/** RFC 8794, 4 to 6. */
async function elementAt(
  { blocks }: Pick<AudioSource, 'blocks'>,
  position: number,
): Promise<Element | undefined> {
  return elementIn(await blocks.upTo(position, ELEMENT_HEAD_BYTES), 0, position);
}

function elementIn(bytes: Buffer, at: number, offset: number): Element | undefined {
  const idLength = vintLength(bytes[at], 4);
  const sizeLength = vintLength(bytes[at + idLength], 8);
  if (idLength === 0 || sizeLength === 0 || at + idLength + sizeLength > bytes.length) return undefined;
  const sizeAt = at + idLength;
  const body = offset + sizeAt + sizeLength;
  let size = (bytes[sizeAt] ?? 0) & (0xff >> sizeLength);
  let isUnknown = size === 0xff >> sizeLength;
  for (const byte of bytes.subarray(sizeAt + 1, sizeAt + sizeLength)) {
    size = size * 256 + byte;
    isUnknown &&= byte === 0xff;
  }
  const end = isUnknown ? Number.POSITIVE_INFINITY : body + size;
  return { id: bytes.readUIntBE(at, idLength), body, end };
}

/** How long a number is by its first byte; 0 for one that is too long, or not there. */
function vintLength(first: number | undefined, most: number): number {
  const length = first === undefined || first === 0 ? 0 : Math.clz32(first) - 23;
  return length > most ? 0 : length;
}

/** The document type of a file of this kind: `webm`, `matroska`. */
export async function docTypeOf(source: AudioSource): Promise<string | undefined> {
  const head = await elementAt(source, 0);
  if (head?.id !== ID.head) return undefined;
  for await (const child of childrenOf(source, head)) {
    if (child.id !== ID.docType) continue;
    const length = Math.min(TEXT_MAX_BYTES, child.end - child.body);
    return (await source.blocks.upTo(child.body, length)).toString('latin1').replaceAll('\0', '');
  }
  return undefined;
}

async function* childrenOf(source: AudioSource, { body, end }: Element): AsyncGenerator<Element> {
  for (let position = body; position < Math.min(end, source.sizeBytes); ) {
    const element = await elementAt(source, position);
    if (element === undefined) return;
    yield element;
    position = element.end;
  }
}

/** WebM: the length in its head, or up to its last block, whichever is longer: recorders that write as they go leave it out. */
export const readMatroska: SoundReader = async (source, start) => {
  const head = await elementAt(source, start);
  const segment = head && (await elementAt(source, head.end));
  if (segment?.id !== ID.segment) return { durationSeconds: null, hasAudio: true };
  let scale = DEFAULT_SCALE_NS;
  let ticks = 0;
  let hasAudio = true;
  let first: number | undefined;
  for await (const element of childrenOf(source, segment)) {
    if (element.id === ID.info)
      for await (const { id, body, end } of childrenOf(source, element)) {
        if (id === ID.timestampScale) scale = (await unsigned(source, body, end)) || DEFAULT_SCALE_NS;
        if (id === ID.duration) ticks = await float(source, body, end);
      }
    if (element.id === ID.tracks) hasAudio = await hasSound(source, element);
    if (element.id !== ID.cluster) continue;
    first = await timestampOf(source, element);
    break;
  }
  const measured = first === undefined ? 0 : (await lastTimestamp(source)) - first;
  return factsOf((Math.max(ticks, measured, 0) * scale) / NS_PER_SECOND, hasAudio);
};

const factsOf = (seconds: number, hasAudio: boolean): SoundFacts => ({
  durationSeconds: seconds > 0 ? seconds : null,
  hasAudio,
});

async function hasSound(source: AudioSource, tracks: Element): Promise<boolean> {
  for await (const track of childrenOf(source, tracks)) {
    if (track.id !== ID.trackEntry) continue;
    for await (const { id, body, end } of childrenOf(source, track))
      if (id === ID.trackType && (await unsigned(source, body, end)) === SOUND_TRACK) return true;
  }
  return false;
}

async function timestampOf(source: AudioSource, cluster: Element): Promise<number | undefined> {
  for await (const { id, body, end } of childrenOf(source, cluster)) {
    if (id === ID.timestamp) return unsigned(source, body, end);
    if (id === ID.simpleBlock || id === ID.blockGroup) return undefined;
  }
  return undefined;
}

/** The time stamp of the last block, in ticks; 0 where no cluster is found. */
async function lastTimestamp(source: AudioSource): Promise<number> {
  const budget = { elements: MAX_ELEMENTS_OF_TAIL };
  for (const tailBytes of TAILS_BYTES) {
    const { bytes, start } = await tailOf(source, tailBytes);
    for (let at = bytes.lastIndexOf(CLUSTER_MARK); at >= 0 && budget.elements > 0; at = before(bytes, at)) {
      const cluster = elementIn(bytes, at, 0);
      const last = cluster && lastInCluster(bytes, cluster.body, budget);
      if (last !== undefined) return last;
    }
    if (start === 0) break;
  }
  return 0;
}

const before = (bytes: Buffer, at: number): number =>
  at === 0 ? -1 : bytes.lastIndexOf(CLUSTER_MARK, at - 1);

/** Undefined for what is no cluster: its own time stamp comes before its blocks. */
function lastInCluster(bytes: Buffer, start: number, budget: { elements: number }): number | undefined {
  let base: number | undefined;
  let last = 0;
  for (let at = start; at < bytes.length && budget.elements > 0; budget.elements -= 1) {
    const element = elementIn(bytes, at, 0);
    if (element === undefined) break;
    const { id, body, end } = element;
    if (id === ID.timestamp) base = unsignedIn(bytes.subarray(body, end));
    // A group is stepped into: its block comes first.
    const isBlock = id === ID.simpleBlock || id === ID.block;
    if (isBlock) last = Math.max(last, relativeTime(bytes, body));
    if (base === undefined && (isBlock || id === ID.blockGroup)) return undefined;
    at = id === ID.blockGroup ? body : end;
  }
  return base === undefined ? undefined : base + last;
}

/** A block begins with the number of its track, then its time within the cluster. */
function relativeTime(bytes: Buffer, body: number): number {
  const at = body + vintLength(bytes[body], 8);
  return at + 2 <= bytes.length ? bytes.readInt16BE(at) : 0;
}

const MAX_NUMBER_BYTES = 8;

async function unsigned({ blocks }: AudioSource, body: number, end: number): Promise<number> {
  return end - body > MAX_NUMBER_BYTES ? 0 : unsignedIn(await blocks.upTo(body, end - body));
}

const unsignedIn = (bytes: Buffer): number => bytes.reduce((sum, byte) => sum * 256 + byte, 0);

async function float({ blocks }: AudioSource, body: number, end: number): Promise<number> {
  if (end - body !== 4 && end - body !== 8) return 0;
  const bytes = await blocks.bytesAt(body, end - body);
  const value = bytes === undefined ? 0 : bytes.length === 4 ? bytes.readFloatBE() : bytes.readDoubleBE();
  return Number.isFinite(value) ? value : 0;
}
