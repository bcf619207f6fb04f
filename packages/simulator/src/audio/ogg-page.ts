/** CRC-32 with the polynomial 0x04c11db7, not reflected, as Ogg requires (RFC 3533, section 6). */
const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index << 24;
  for (let bit = 0; bit < 8; bit += 1) value = value & 0x80000000 ? (value << 1) ^ 0x04c11db7 : value << 1;
  return value >>> 0;
});

const crc = (bytes: Uint8Array): number => {
  let value = 0;
  for (const byte of bytes) value = ((value << 8) ^ (TABLE[((value >>> 24) ^ byte) & 0xff] ?? 0)) >>> 0;
  return value;
};

const HEADER_BYTES = 27;

export interface OggPage {
  /** Each shorter than 255 bytes; at most 255 of them. */
  readonly packets: readonly Uint8Array[];
  readonly granulePosition: number;
  readonly sequence: number;
  readonly isFirst?: boolean;
  readonly isLast?: boolean;
}

const SERIAL = 1;

/** One page of the simulator's only stream. */
export const oggPage = ({ packets, granulePosition, sequence, isFirst, isLast }: OggPage): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES + packets.length);
  header.write('OggS', 0, 'latin1');
  header.writeUInt8((isFirst ? 2 : 0) | (isLast ? 4 : 0), 5);
  header.writeBigUInt64LE(BigInt(granulePosition), 6);
  header.writeUInt32LE(SERIAL, 14);
  header.writeUInt32LE(sequence, 18);
  header.writeUInt8(packets.length, 26);
  for (const [index, packet] of packets.entries()) header.writeUInt8(packet.length, HEADER_BYTES + index);
  const page = Buffer.concat([header, ...packets]);
  page.writeUInt32LE(crc(page), 22);
  return page;
};
