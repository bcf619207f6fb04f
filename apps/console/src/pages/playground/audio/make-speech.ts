import { wholeNumber } from '../../../parts/numbers.ts';
import type { Call } from '../exchange/call.ts';
import type { AnswerReader } from '../exchange/exchange.ts';

export const SPEECH_FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const;

export interface SpeechAnswer {
  readonly bytes: number;
  /** The whole sound; null: it has not come yet. */
  readonly sound: {
    /** A `blob:` URL, until it is forgotten. */
    readonly url: string;
    readonly fileName: string;
    readonly isPlayable: boolean;
  } | null;
}

export const NO_SPEECH: SpeechAnswer = { bytes: 0, sound: null };

export const forgetSpeech = ({ sound }: SpeechAnswer): void => {
  if (sound !== null) URL.revokeObjectURL(sound.url);
};

/** What a person sets for speech; undefined: the provider's own. */
interface SpeechSettings {
  readonly model: string;
  readonly input: string;
  readonly voice: string;
  readonly instructions: string;
  readonly format: string;
  readonly speed: number | undefined;
}

export const speechCall = ({ model, input, voice, instructions, format, speed }: SpeechSettings): Call => ({
  path: '/v1/audio/speech',
  body: {
    kind: 'json',
    json: {
      model,
      input,
      voice,
      ...(instructions !== '' && { instructions }),
      response_format: format,
      ...(speed !== undefined && { speed }),
    },
  },
});

/** Collects the sound as it comes. */
export const readSpeech =
  (format: string) =>
  async (response: Response, reader: AnswerReader<SpeechAnswer>): Promise<void> => {
    const type = response.headers.get('content-type') ?? `audio/${format}`;
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    let bytes = 0;
    const body = response.body?.getReader();
    for (let next = await body?.read(); next?.value !== undefined; next = await body?.read()) {
      pieces.push(next.value);
      bytes += next.value.length;
      reader.note('bytes', `${wholeNumber(next.value.length)} bytes of ${type}`);
      reader.show({ bytes, sound: null }, true);
    }
    const sound = {
      url: URL.createObjectURL(new Blob(pieces, { type })),
      fileName: `speech.${format}`,
      // Raw samples without a header: browsers play none.
      isPlayable: format !== 'pcm',
    };
    reader.show({ bytes, sound }, true);
  };
