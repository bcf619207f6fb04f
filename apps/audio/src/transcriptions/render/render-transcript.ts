import { GatewayError } from '@gateway/contracts/gateway-error';
import { parseJson } from '@gateway/contracts/json-depth';
import { Transcript, type TranscriptFormat } from '@gateway/contracts/openai/transcriptions';
import { toSrt, toVtt } from './cues.ts';

interface RenderOptions {
  /** The upstream's body. */
  readonly body: string;
  readonly from: TranscriptFormat;
  readonly to: TranscriptFormat;
  /** The error for a transcript that came without the times that `to` needs. */
  readonly incompatible: () => GatewayError;
}

/**
 * The upstream's transcript in the format that the caller asked for. The same format passes untouched.
 *
 * @throws {GatewayError} `upstream_failed` for a body that is not of its format
 */
export function renderTranscript({ body, from, to, incompatible }: RenderOptions): string {
  if (from === to) return body;
  const transcript = from === 'text' ? { text: body.trim() } : parseTranscript(body);
  switch (to) {
    case 'json':
      return JSON.stringify({ text: transcript.text, ...extrasOf(transcript) });
    case 'text':
      return `${transcript.text.trim()}\n`;
    default: {
      if (!transcript.segments) throw incompatible();
      return to === 'srt' ? toSrt(transcript.segments) : toVtt(transcript.segments);
    }
  }
}

/** What plain `json` shows beside the text, where the upstream told it. */
const extrasOf = (transcript: Transcript) =>
  Object.fromEntries(
    ['usage', 'languages'].flatMap((name) => (name in transcript ? [[name, transcript[name]]] : [])),
  );

/** @throws {GatewayError} `upstream_failed` for what is no transcript in JSON */
export function parseTranscript(body: string): Transcript {
  try {
    return Transcript.parse(parseJson(body));
  } catch (cause) {
    throw new GatewayError('upstream_failed', {
      message: 'The provider returned a transcript that cannot be read.',
      source: 'upstream',
      cause,
    });
  }
}
