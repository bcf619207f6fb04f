import processorUrl from './pcm-processor.ts?worker&url';

/** PCM of 16 bits and one channel, as the Realtime API has it by default. */
const SAMPLE_RATE = 24_000;
const BYTES_PER_SAMPLE = 2;
const SAMPLES_TO_ONE = 0x8000;

/** Plays pieces of sound one after the other. */
export interface Speaker {
  play(base64: string): void;
  /** Drops what is not played yet. */
  silence(): void;
  close(): void;
}

export function openSpeaker(): Speaker {
  const context = new AudioContext({ sampleRate: SAMPLE_RATE });
  const playing = new Set<AudioBufferSourceNode>();
  let endsAt = 0;
  return {
    play: (base64) => {
      const samples = samplesIn(base64);
      if (samples.length === 0) return;
      const buffer = context.createBuffer(1, samples.length, SAMPLE_RATE);
      buffer.copyToChannel(samples, 0);
      const source = context.createBufferSource();
      source.buffer = buffer;
      source.connect(context.destination);
      endsAt = Math.max(endsAt, context.currentTime);
      source.start(endsAt);
      endsAt += buffer.duration;
      playing.add(source);
      source.addEventListener('ended', () => playing.delete(source));
    },
    silence: () => {
      for (const source of playing) source.stop();
      endsAt = 0;
    },
    close: () => void context.close(),
  };
}

function samplesIn(base64: string): Float32Array<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from(
    { length: Math.floor(bytes.length / BYTES_PER_SAMPLE) },
    (_, at) => view.getInt16(at * BYTES_PER_SAMPLE, true) / SAMPLES_TO_ONE,
  );
}

/** Calls back with what the microphone hears, in base64, until it is closed. Asks the person first. */
export async function openMicrophone(onHeard: (base64: string) => void): Promise<() => void> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true } });
  const context = new AudioContext({ sampleRate: SAMPLE_RATE });
  const close = (): void => {
    for (const track of stream.getTracks()) track.stop();
    void context.close();
  };
  try {
    await context.audioWorklet.addModule(processorUrl);
  } catch (error) {
    close();
    throw error;
  }
  const processor = new AudioWorkletNode(context, 'pcm', { numberOfOutputs: 0 });
  processor.port.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer>) =>
    onHeard(btoa(String.fromCharCode(...new Uint8Array(data)))),
  );
  processor.port.start();
  context.createMediaStreamSource(stream).connect(processor);
  return close;
}
