import type { FileBlocks } from '@gateway/forms/file-blocks';

/** A file whose headers are read. */
export interface AudioSource {
  readonly blocks: FileBlocks;
  readonly sizeBytes: number;
}

/** What a file's own headers, frames and time stamps say of its sound. */
export interface SoundFacts {
  /** Null where nothing in the file says it. */
  readonly durationSeconds: number | null;
  /** False only where the file lists its tracks and none of them is sound. */
  readonly hasAudio: boolean;
}

/** Reads a file of one format from this position on. */
export type SoundReader = (source: AudioSource, start: number) => Promise<SoundFacts>;

export const UNKNOWN_SOUND: SoundFacts = { durationSeconds: null, hasAudio: true };

/** Sound of so many seconds; of none, the length is unknown. */
export const lasting = (durationSeconds: number): SoundFacts => ({
  durationSeconds: durationSeconds > 0 ? durationSeconds : null,
  hasAudio: true,
});

/** The end of a file, up to so many bytes of it, and where that begins. */
export async function tailOf(
  { blocks, sizeBytes }: AudioSource,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly start: number }> {
  const start = Math.max(0, sizeBytes - maxBytes);
  return { bytes: await blocks.upTo(start, sizeBytes - start), start };
}
