import { readFile } from 'node:fs/promises';
import type { TranscriptionModelV4 } from '@ai-sdk/provider';
import { SEEK_PER_SECOND, segmentId, TranscriptFormat } from '@gateway/contracts/openai/transcriptions';
import type { TranscriptionAbilities, TranscriptionResult } from '../library.ts';
import type { LibraryAnswer, LibraryCall } from '../media-request.ts';
import { segmentsOf, spelledWords } from './words.ts';

/** A transcript in the format of the protocol that was requested. @throws {Error} without a file */
export async function transcribe(
  model: TranscriptionModelV4,
  abilities: TranscriptionAbilities,
  { members, files: [file], signal, timeoutMs }: LibraryCall,
): Promise<LibraryAnswer> {
  if (file === undefined) throw new Error('a transcription without a file');
  const format = TranscriptFormat.catch('json').parse(members.response_format);
  const result = await model.doGenerate({
    audio: await readFile(file.path),
    mediaType: file.contentType,
    providerOptions: abilities.options({ members, format, inputImages: 0, timeoutMs }),
    abortSignal: signal,
  });
  const seconds = abilities.tellsDuration ? result.durationInSeconds : undefined;
  const usage = seconds === undefined ? {} : { usage: { type: 'duration', seconds: Math.ceil(seconds) } };
  if (format === 'text')
    return { contentType: 'text/plain; charset=utf-8', body: Buffer.from(`${result.text}\n`) };
  if (format === 'verbose_json') return json({ ...verboseOf(result, granularitiesOf(members)), ...usage });
  if (format === 'diarized_json') return json({ ...diarizedOf(result, abilities), ...usage });
  return json({ text: result.text, ...usage });
}

const granularitiesOf = ({ timestamp_granularities: named }: LibraryCall['members']): readonly unknown[] => {
  if (named === undefined) return ['segment'];
  return Array.isArray(named) ? named : [named];
};

/**
 * Times and words are the provider's. Client libraries demand all members of a segment: Whisper's own figures, which
 * these providers do not have, are 0 or empty.
 */
function verboseOf(result: TranscriptionResult, granularities: readonly unknown[]) {
  const timed = (result.words ?? result.segments).map(({ text, startSecond: start, endSecond: end }) => ({
    text,
    start,
    end,
  }));
  const words = spelledWords(result.text, timed);
  const figures = { tokens: [], temperature: 0, avg_logprob: 0, compression_ratio: 0, no_speech_prob: 0 };
  const segments = segmentsOf(result.text, words).map(({ id, start, end, text }) => ({
    id,
    seek: Math.round(start * SEEK_PER_SECOND),
    start,
    end,
    text,
    ...figures,
  }));
  return {
    task: 'transcribe',
    language: languageName(result.language),
    duration: result.durationInSeconds ?? words.at(-1)?.end ?? 0,
    text: result.text,
    ...(granularities.includes('segment') && { segments }),
    ...(granularities.includes('word') && {
      words: words.map(({ text: word, start, end }) => ({ word, start, end })),
    }),
  };
}

function diarizedOf(result: TranscriptionResult, { turns }: TranscriptionAbilities) {
  const segments = (turns?.(result) ?? []).map((turn, index) => ({
    type: 'transcript.text.segment',
    id: segmentId(index),
    ...turn,
  }));
  return {
    task: 'transcribe',
    duration: result.durationInSeconds ?? segments.at(-1)?.end ?? 0,
    text: segments.map(({ speaker, text }) => `${speaker}: ${text}`).join('\n'),
    segments,
  };
}

/** `english` for `en`, as the protocol names languages. */
function languageName(code: string | undefined): string {
  if (code === undefined) return 'unknown';
  try {
    return (new Intl.DisplayNames('en', { type: 'language' }).of(code) ?? code).toLowerCase();
  } catch {
    return code;
  }
}

const json = (value: unknown): LibraryAnswer => ({
  contentType: 'application/json',
  body: Buffer.from(JSON.stringify(value)),
});
