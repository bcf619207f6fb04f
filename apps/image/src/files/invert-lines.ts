/** How the pixels of a PNG are stored. */
export interface PixelForm {
  readonly bits: number;
  /** 0: grey, 2: colours, 3: a palette; with 4 added: and alpha. */
  readonly colourType: number;
  readonly channels: number;
  /** Parts of the picture that are stored one after the other, each in lines of its own. */
  readonly passes: readonly { readonly pixels: number; readonly rows: number }[];
}

const HAS_ALPHA = 4;

/**
 * The lines of a PNG with their alpha inverted, as they come: two are in memory at a time. Lines keep their filters, so that
 * the copy is packed as well as the original.
 *
 * @param transparency of a PNG without an alpha channel: the one colour that is transparent, 16 bits for each channel
 */
export async function* invertedLines(
  raw: AsyncIterable<Buffer>,
  form: PixelForm,
  transparency: Buffer,
): AsyncGenerator<Buffer> {
  const { bits, channels, colourType, passes } = form;
  const hasAlpha = (colourType & HAS_ALPHA) !== 0;
  const sampleBytes = bits > 8 ? 2 : 1;
  const inverted = hasAlpha
    ? (line: Buffer) => invertChannel(line, channels * sampleBytes, sampleBytes)
    : (line: Buffer, pixels: number) => alphaAdded(line, pixels, form, transparency);
  const pixelBytes = Math.max(1, (channels * bits) / 8);
  const outPixelBytes = (hasAlpha ? channels : channels + 1) * sampleBytes;
  const pieces = createPieces(raw);
  for (const { pixels, rows } of passes) {
    const lengthBytes = 1 + Math.ceil((pixels * channels * bits) / 8);
    let before: Buffer = Buffer.alloc(lengthBytes - 1);
    let beforeOut: Buffer = Buffer.alloc(pixels * outPixelBytes);
    for (let row = 0; row < rows; row += 1) {
      const stored = pieces.held(lengthBytes) ?? (await pieces.wait(lengthBytes));
      const line = Buffer.from(stored.subarray(1));
      const filter = stored[0] ?? 0;
      addPrediction(line, before, filter, pixelBytes);
      before = line;
      const out = inverted(Buffer.from(line), pixels);
      yield filteredLine(filter, out, beforeOut, outPixelBytes);
      beforeOut = out;
    }
  }
}

/** Bytes that come in pieces of any length, taken in others. */
function createPieces(source: AsyncIterable<Buffer>) {
  const chunks = source[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  const held = (length: number): Buffer | undefined => {
    if (rest.length < length) return undefined;
    const taken = rest.subarray(0, length);
    rest = rest.subarray(length);
    return taken;
  };
  return {
    held,
    wait: async (length: number): Promise<Buffer> => {
      const parts = [rest];
      for (let size = rest.length; size < length; ) {
        const next = await chunks.next();
        if (next.done) throw new Error('the pixels end too early');
        parts.push(next.value);
        size += next.value.length;
      }
      rest = Buffer.concat(parts);
      return held(length) ?? Buffer.alloc(length);
    },
  };
}

function invertChannel(line: Buffer, pixelBytes: number, sampleBytes: number): Buffer {
  for (let pixel = pixelBytes - sampleBytes; pixel < line.length; pixel += pixelBytes)
    for (let at = pixel; at < pixel + sampleBytes; at += 1) line[at] = 255 - (line[at] ?? 0);
  return line;
}

/** Every pixel opaque that has the transparent colour, every other one transparent. */
function alphaAdded(
  line: Buffer,
  pixels: number,
  { bits, channels }: PixelForm,
  transparency: Buffer,
): Buffer {
  const isWide = bits > 8;
  const out = Buffer.alloc(pixels * (channels + 1) * (isWide ? 2 : 1));
  const scale = isWide ? 1 : 255 / (2 ** bits - 1);
  let at = 0;
  const put = (value: number) => {
    if (isWide) out.writeUInt16BE(value, at);
    else out[at] = value;
    at += isWide ? 2 : 1;
  };
  for (let pixel = 0; pixel < pixels; pixel += 1) {
    let isColour = transparency.length >= 2 * channels;
    for (let channel = 0; channel < channels; channel += 1) {
      const sample = sampleAt(line, pixel * channels + channel, bits);
      isColour &&= sample === transparency.readUInt16BE(2 * channel);
      put(sample * scale);
    }
    put(isColour ? (isWide ? 0xffff : 0xff) : 0);
  }
  return out;
}

function sampleAt(line: Buffer, index: number, bits: number): number {
  if (bits === 16) return line.readUInt16BE(2 * index);
  const at = index * bits;
  return ((line[at >> 3] ?? 0) >> (8 - bits - (at & 7))) & (2 ** bits - 1);
}

/** What a filter expects of a byte by those to the left, above, and above to the left. PNG (third edition), 9.2. */
function predicted(filter: number, left: number, up: number, corner: number): number {
  switch (filter) {
    case 1:
      return left;
    case 2:
      return up;
    case 3:
      return (left + up) >> 1;
    case 4: {
      const a = Math.abs(up - corner);
      const b = Math.abs(left - corner);
      const c = Math.abs(left + up - 2 * corner);
      if (a <= b && a <= c) return left;
      return b <= c ? up : corner;
    }
    default:
      return 0;
  }
}

/** Makes a stored line the bytes that it means. */
function addPrediction(line: Buffer, before: Buffer, filter: number, pixelBytes: number): void {
  if (filter === 0) return;
  for (let at = 0; at < line.length; at += 1) {
    const left = line[at - pixelBytes] ?? 0;
    line[at] = (line[at] ?? 0) + predicted(filter, left, before[at] ?? 0, before[at - pixelBytes] ?? 0);
  }
}

/** A line as it is stored under this filter. */
function filteredLine(filter: number, line: Buffer, before: Buffer, pixelBytes: number): Buffer {
  const stored = Buffer.alloc(1 + line.length);
  stored[0] = filter;
  if (filter === 0) line.copy(stored, 1);
  if (filter === 0) return stored;
  for (let at = 0; at < line.length; at += 1) {
    const left = line[at - pixelBytes] ?? 0;
    stored[at + 1] = (line[at] ?? 0) - predicted(filter, left, before[at] ?? 0, before[at - pixelBytes] ?? 0);
  }
  return stored;
}
