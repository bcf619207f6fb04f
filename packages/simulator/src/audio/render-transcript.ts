import type { JsonObject } from '../json-value.ts';
import type { Transcript, TranscriptSegment } from './transcript.ts';

/** `00:00:03,320`; the mark before the milliseconds differs between the formats. */
const timestamp = (seconds: number, mark: ',' | '.'): string => {
  const milliseconds = Math.round(seconds * 1000);
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const clock = [milliseconds / 3_600_000, (milliseconds / 60_000) % 60, (milliseconds / 1000) % 60]
    .map(two)
    .join(':');
  return `${clock}${mark}${String(milliseconds % 1000).padStart(3, '0')}`;
};

const cue = ({ start, end, text }: TranscriptSegment, mark: ',' | '.'): string =>
  `${timestamp(start, mark)} --> ${timestamp(end, mark)}\n${text}\n\n`;

export const renderText = ({ text }: Transcript): string => `${text}\n`;

export const renderSrt = ({ segments }: Transcript): string =>
  segments.map((segment, index) => `${index + 1}\n${cue(segment, ',')}`).join('');

export const renderVtt = ({ segments }: Transcript): string =>
  `WEBVTT\n\n${segments.map((segment) => cue(segment, '.')).join('')}`;

export interface VerboseOptions {
  readonly task: 'transcribe' | 'translate';
  /** Lower-case English name. */
  readonly language: string;
  readonly temperature: number;
  readonly granularities: readonly string[];
  readonly usage: JsonObject;
}

const FIRST_TOKEN = 50_364;

const verboseSegment = (
  { start, end, text }: TranscriptSegment,
  id: number,
  temperature: number,
): JsonObject => ({
  id,
  seek: 0,
  start,
  end,
  text: ` ${text}`,
  tokens: text.split(' ').map((_, index) => FIRST_TOKEN + index),
  temperature,
  avg_logprob: -0.286,
  compression_ratio: 1.236,
  no_speech_prob: 0.0098,
});

export const renderVerbose = (transcript: Transcript, options: VerboseOptions): JsonObject => {
  const { task, language, temperature, granularities, usage } = options;
  return {
    task,
    language,
    duration: transcript.durationSeconds,
    text: transcript.text,
    ...(granularities.includes('segment') && {
      segments: transcript.segments.map((segment, id) => verboseSegment(segment, id, temperature)),
    }),
    ...(granularities.includes('word') && { words: transcript.words }),
    usage,
  };
};

/** The segments with their speakers, who take turns: named ones first, then A, B, C… */
export const speakerSegments = ({ segments }: Transcript, names: readonly string[]): JsonObject[] => {
  const speakers = names.length >= 2 ? names : [...names, 'A', 'B'].slice(0, 2);
  return segments.map(({ start, end, text }, index) => ({
    type: 'transcript.text.segment',
    id: `seg_${String(index + 1).padStart(3, '0')}`,
    start,
    end,
    text,
    speaker: speakers[index % speakers.length],
  }));
};

export const renderDiarized = (
  transcript: Transcript,
  names: readonly string[],
  usage: JsonObject,
): JsonObject => {
  const segments = speakerSegments(transcript, names);
  return {
    task: 'transcribe',
    duration: transcript.durationSeconds,
    text: segments.map(({ speaker, text }) => `${speaker}: ${text}`).join('\n'),
    segments,
    usage,
  };
};
