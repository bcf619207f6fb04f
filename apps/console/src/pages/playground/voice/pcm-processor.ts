/** What the scope of an audio worklet has, which the types of pages lack. */
declare abstract class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;

/** A tenth of a second at 24 kHz. */
const PIECE_SAMPLES = 2400;
const MAX_SAMPLE = 0x7fff;

/** Posts the microphone's sound in pieces of PCM with 16 bits. It runs in the thread of the browser's sound. */
class PcmProcessor extends AudioWorkletProcessor {
  #piece = new Int16Array(PIECE_SAMPLES);
  #length = 0;

  process([input]: Float32Array[][]): boolean {
    for (const sample of input?.[0] ?? []) {
      this.#piece[this.#length] = Math.round(Math.max(-1, Math.min(1, sample)) * MAX_SAMPLE);
      this.#length += 1;
      if (this.#length === PIECE_SAMPLES) this.#post();
    }
    return true;
  }

  #post(): void {
    this.port.postMessage(this.#piece.buffer, [this.#piece.buffer]);
    this.#piece = new Int16Array(PIECE_SAMPLES);
    this.#length = 0;
  }
}

registerProcessor('pcm', PcmProcessor);
