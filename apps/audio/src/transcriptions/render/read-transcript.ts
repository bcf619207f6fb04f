import { parseJson } from '@gateway/contracts/json/json-depth';
import { jsonIn } from '@gateway/contracts/json/json-object';
import type {
  Transcript,
  TranscriptFormat,
  TranscriptSegment,
} from '@gateway/contracts/openai/transcriptions';
import { UnreadableReply } from '@gateway/upstream/replies/reply';
import { repairedTranscript } from './repair-transcript.ts';

/** A transcript that came, in whatever format it was requested. */
export interface ReceivedTranscript {
  /** The formats that the body has without rendering. */
  readonly formats: readonly TranscriptFormat[];
  readonly transcript: Transcript;
  /** Its JSON, where the one that came was repaired. */
  readonly body?: string;
}

const JSON_FORMATS: readonly TranscriptFormat[] = ['json', 'verbose_json', 'diarized_json'];

/**
 * Reads what a provider answered by its content: many servers ignore `response_format`, and their content types say
 * little.
 *
 * @throws {GatewayError} `upstream_failed`: for an empty body where JSON was requested, and, not to be repeated, for JSON that
 * is no transcript
 */
export function readTranscript(body: string, requested: TranscriptFormat): ReceivedTranscript {
  const text = body.replace(/^\uFEFF/, '').trim();
  if (text === '' && JSON_FORMATS.includes(requested)) throw unreadable({});
  if (text === '') return { formats: ['text', 'srt', 'vtt'], transcript: { text, segments: [] } };
  if (text.startsWith('{') || PARTS.test(text)) return jsonTranscript(text);
  const quoted = quotedText(text);
  if (quoted !== null) return { formats: [], transcript: { text: quoted } };
  const segments = segmentsOfCues(text);
  if (segments === null) return { formats: ['text'], transcript: { text } };
  const words = segments.map((segment) => segment.text).join(' ');
  return { formats: [/^WEBVTT\b/.test(text) ? 'vtt' : 'srt'], transcript: { text: words, segments } };
}

function jsonTranscript(text: string): ReceivedTranscript {
  const strict = jsonIn(text, parseJson);
  const repaired = repairedTranscript(strict ?? jsonIn(withoutNaN(text), parseJson));
  if (repaired === undefined) throw unreadable({ retry: false });
  const { transcript, isAsSent } = repaired;
  const isSent = isAsSent && strict !== undefined;
  return { formats: JSON_FORMATS, transcript, ...(!isSent && { body: JSON.stringify(transcript) }) };
}

/** A list of segments: a text may begin with a bracket, too, such as "[Music]". */
const PARTS = /^\[\s*\{\s*"/;

const TEXT_OR_NAN = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g;

/** Python writes numbers that are none into its JSON. */
const withoutNaN = (text: string): string =>
  text.replace(TEXT_OR_NAN, (found) => (found.startsWith('"') ? found : 'null'));

const unreadable = (more: ConstructorParameters<typeof UnreadableReply>[1]) =>
  new UnreadableReply('The provider returned a transcript that cannot be read.', more);

/** A text that a server has written as a JSON string; null where it is none. */
function quotedText(text: string): string | null {
  if (!text.startsWith('"') || !text.endsWith('"')) return null;
  const value = jsonIn(text, parseJson);
  return typeof value === 'string' ? value : null;
}

/** The line of times in SubRip and WebVTT: hours are optional in the second, settings may follow. */
const TIMES =
  /^(?:(\d+):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})[ \t]+-->[ \t]+(?:(\d+):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})/;

/** The cues of subtitles as segments; null for a text that is none. */
function segmentsOfCues(text: string): TranscriptSegment[] | null {
  const isVtt = /^WEBVTT\b/.test(text);
  const segments = text
    .split(/\r?\n(?:[ \t]*\r?\n)+/)
    .flatMap((block): TranscriptSegment[] => segmentOf(block.split(/\r?\n/)) ?? []);
  return segments.length > 0 || isVtt ? segments : null;
}

function segmentOf(lines: readonly string[]): TranscriptSegment[] | null {
  // A number or a name may come before the times.
  const at = lines.slice(0, 2).findIndex((line) => TIMES.test(line.trim()));
  const parts = TIMES.exec(lines[at]?.trim() ?? '');
  if (parts === null) return null;
  const text = lines
    .slice(at + 1)
    .join('\n')
    .trim();
  return [{ start: secondsOf(parts.slice(1, 5)), end: secondsOf(parts.slice(5, 9)), text }];
}

function secondsOf([hours = '0', minutes, seconds, fraction = '0']: readonly (string | undefined)[]): number {
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) + Number(`0.${fraction}`);
}
