import type { Contender } from './contender.ts';
import { residentBytes } from './processor-time.ts';

/** A valid WAV file of silence: 16 kHz, 16 bit, mono. */
function wav(sizeBytes: number): Buffer<ArrayBuffer> {
  const file = Buffer.alloc(sizeBytes);
  file.write('RIFF', 0);
  file.writeUInt32LE(sizeBytes - 8, 4);
  file.write('WAVEfmt ', 8);
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(16_000, 24);
  file.writeUInt32LE(32_000, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36);
  file.writeUInt32LE(sizeBytes - 44, 40);
  return file;
}

export interface UploadResult {
  readonly status: number;
  /** How much more memory each process held at its most than before, in bytes. */
  readonly grownBytes: ReadonlyMap<string, number>;
}

const UPLOAD_BYTES = 25 * 1024 * 1024;

/** Sends a transcription request with a file of 25 MB and watches the memory of those who pass it on. */
export async function largeUpload({ baseUrl, headers, processes }: Contender): Promise<UploadResult> {
  const send = async (sizeBytes: number) => {
    const form = new FormData();
    form.set('model', 'whisper-1');
    form.set('file', new Blob([wav(sizeBytes)], { type: 'audio/wav' }), 'silence.wav');
    const reply = await fetch(`${baseUrl}/v1/audio/transcriptions`, { method: 'POST', headers, body: form });
    await reply.arrayBuffer();
    return reply.status;
  };
  // A process's first upload loads code; only what the size costs is of interest.
  await send(64 * 1024);
  const before = new Map<string, number>();
  for (const { name, pid } of processes) before.set(name, await residentBytes(pid));
  const grownBytes = new Map<string, number>();
  const watch = setInterval(async () => {
    for (const { name, pid } of processes) {
      const grown = (await residentBytes(pid)) - (before.get(name) ?? 0);
      grownBytes.set(name, Math.max(grownBytes.get(name) ?? 0, grown));
    }
  }, 10);
  const status = await send(UPLOAD_BYTES);
  clearInterval(watch);
  return { status, grownBytes };
}
