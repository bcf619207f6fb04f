import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { Transcript, TranscriptFormat } from '@gateway/contracts/openai/transcriptions';
import { toSrt, toVtt } from './cues.ts';
import type { ReceivedTranscript } from './read-transcript.ts';

interface RenderOptions {
  /** The upstream's body, and what it was found to be. */
  readonly body: string;
  readonly received: ReceivedTranscript;
  /** The format in the request to the upstream. */
  readonly requested: TranscriptFormat;
  readonly to: TranscriptFormat;
  /** The error for a transcript that came without the times or the figures that `to` needs. */
  readonly incompatible: () => GatewayError;
}

/**
 * The upstream's transcript in the format that the caller requested. What came in the requested format passes untouched;
 * everything else is rendered from what came.
 *
 * @throws {GatewayError} `incompatible`
 */
export function renderTranscript({ body, received, requested, to, incompatible }: RenderOptions): string {
  if (requested === to && received.formats.includes(to)) return body;
  const { transcript } = received;
  switch (to) {
    case 'json':
      return JSON.stringify({ text: transcript.text, ...extrasOf(transcript) });
    case 'text':
      return `${transcript.text.trim()}\n`;
    case 'srt':
    case 'vtt':
      if (!transcript.segments) throw incompatible();
      return to === 'srt' ? toSrt(transcript.segments) : toVtt(transcript.segments);
    default:
      throw incompatible();
  }
}

/** What plain `json` shows beside the text, if the upstream reported it. */
const extrasOf = (transcript: Transcript) =>
  Object.fromEntries(
    ['usage', 'languages', 'logprobs'].flatMap((name) =>
      name in transcript ? [[name, transcript[name]]] : [],
    ),
  );
