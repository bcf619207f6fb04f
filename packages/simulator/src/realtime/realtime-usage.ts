import { asObject, asText } from '../json-value.ts';

/** Tokens of a conversation by what they are. */
interface Tokens {
  text: number;
  audio: number;
  image: number;
}

/** PCM at 24 kHz: a token of the caller's sound is 100 ms, one of the model's 50 ms. */
const [BYTES_PER_INPUT_TOKEN, BYTES_PER_OUTPUT_TOKEN] = [4800, 2400];
const BYTES_PER_TEXT_TOKEN = 4;
/** Of any image. */
const IMAGE_TOKENS = 200;

/** Counts what the responses of a session use. What an earlier response has read is cached for the next one. */
export class ConversationTokens {
  readonly #all: Tokens = { text: 0, audio: 0, image: 0 };
  #cached: Tokens = { text: 0, audio: 0, image: 0 };

  addText(text: string): void {
    this.#all.text += Math.ceil(Buffer.byteLength(text) / BYTES_PER_TEXT_TOKEN);
  }

  /** The content of an item: sound and images count as such. */
  addContent(content: unknown): void {
    for (const part of Array.isArray(content) ? content : [content ?? '']) {
      const { type, audio } = asObject(part);
      if (type === 'input_image') this.#all.image += IMAGE_TOKENS;
      else if (type === 'input_audio') this.addSound(Buffer.byteLength(asText(audio), 'base64'));
      else this.addText(JSON.stringify(part));
    }
  }

  addSound(bytes: number): void {
    this.#all.audio += Math.ceil(bytes / BYTES_PER_INPUT_TOKEN);
  }

  /** What a response used that has spoken so much. */
  respond(transcript: string, soundBytes: number) {
    const input = { ...this.#all };
    const cached = this.#cached;
    const output = {
      text: Math.ceil(Buffer.byteLength(transcript) / BYTES_PER_TEXT_TOKEN),
      audio: Math.ceil(soundBytes / BYTES_PER_OUTPUT_TOKEN),
    };
    this.#cached = input;
    this.#all.text += output.text;
    this.#all.audio += output.audio;
    const inputTokens = input.text + input.audio + input.image;
    const outputTokens = output.text + output.audio;
    return {
      total_tokens: inputTokens + outputTokens,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      input_token_details: {
        text_tokens: input.text,
        audio_tokens: input.audio,
        image_tokens: input.image,
        cached_tokens: cached.text + cached.audio + cached.image,
        cached_tokens_details: {
          text_tokens: cached.text,
          audio_tokens: cached.audio,
          image_tokens: cached.image,
        },
      },
      output_token_details: { text_tokens: output.text, audio_tokens: output.audio },
    };
  }
}
