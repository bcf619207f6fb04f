import { type Directives, withoutDirectives } from '../script/directives.ts';
import { countTokens, cutToTokens, textOfTokens } from '../tokens.ts';
import type { Answer, AnswerPart, Citation, Finish } from './answer.ts';
import type { Prompt } from './prompt.ts';
import { schemaInstance } from './schema-instance.ts';
import { selectTools } from './select-tools.ts';

const MAX_ECHO_CHARACTERS = 200;
const REASONING_TEXT = '**Reading the request** The caller wants an answer, so I give the simplest one.';
const REFUSAL_TEXT = "I'm sorry, but I can't help with that.";
const CITED = 'An example was found (example.org).';
const CITED_SPAN = { start: 21, end: 34 };

/** What a test may replace the echo by. */
export type AnswerWish = Directives & { readonly text?: string };

const echo = (text: string): string => {
  const clean = withoutDirectives(text);
  return clean.length > MAX_ECHO_CHARACTERS ? `${clean.slice(0, MAX_ECHO_CHARACTERS)}…` : clean;
};

const visibleText = (prompt: Prompt, wish: AnswerWish): string => {
  if (wish.text !== undefined) return wish.text;
  if (prompt.format === 'object') return JSON.stringify({ answer: `You said: ${echo(prompt.userText)}` });
  if (prompt.format) return JSON.stringify(schemaInstance(prompt.format));
  if (wish.tokens !== undefined) return textOfTokens(wish.tokens);
  const { toolResults } = prompt;
  if (toolResults.length > 0) return `The tool answered: ${toolResults.map(echo).join(' | ')}`;
  return `You said: ${echo(prompt.userText)}`;
};

const callOf = ({ name, schema }: Prompt['tools'][number]): AnswerPart =>
  schema
    ? { kind: 'tool-call', name, arguments: JSON.stringify(schemaInstance(schema)) }
    : { kind: 'custom-call', name, input: `example input for ${name}` };

const visibleParts = (prompt: Prompt, wish: AnswerWish): { parts: AnswerPart[]; finish: Finish } => {
  if (wish.refusal) return { parts: [{ kind: 'refusal', text: REFUSAL_TEXT }], finish: 'refusal' };
  // A test that scripts the answer gets it, with any tools.
  const selected = selectTools(prompt, wish.text === undefined && wish.tokens === undefined);
  const query = echo(prompt.userText);
  const parts: AnswerPart[] = [];
  if (selected.webSearch) parts.push({ kind: 'web-search', query });
  if (selected.fileSearch) parts.push({ kind: 'file-search', query });
  if (selected.calls.length > 0)
    return { parts: [...parts, ...selected.calls.map(callOf)], finish: 'tool-calls' };
  if (parts.length > 0 && wish.text === undefined) {
    const citation: Citation = { source: selected.webSearch ? 'web' : 'file', ...CITED_SPAN };
    return { parts: [...parts, { kind: 'text', text: CITED, citation }], finish: 'stop' };
  }
  return {
    parts: [...parts, { kind: 'text', text: visibleText(prompt, wish), citation: null }],
    finish: 'stop',
  };
};

const tokensOf = (part: AnswerPart): number => {
  switch (part.kind) {
    case 'reasoning':
      return part.tokens;
    case 'text':
    case 'refusal':
      return countTokens(part.text);
    case 'tool-call':
      return countTokens(part.name + part.arguments);
    case 'custom-call':
      return countTokens(part.name + part.input);
    default:
      return countTokens(part.query);
  }
};

const shortened = (part: AnswerPart, tokens: number): AnswerPart | null => {
  if (part.kind === 'text') return { ...part, text: cutToTokens(part.text, tokens), citation: null };
  if (part.kind === 'reasoning') return { ...part, text: cutToTokens(part.text, tokens), tokens };
  return null;
};

/** Keeps the parts that fit; the next part is cut, or left out if half of it would mean nothing. */
const withinTokens = (
  parts: readonly AnswerPart[],
  maxTokens: number,
): { parts: AnswerPart[]; cut: boolean } => {
  const kept: AnswerPart[] = [];
  let left = maxTokens;
  for (const part of parts) {
    const tokens = tokensOf(part);
    if (tokens > left) {
      const rest = left > 0 ? shortened(part, left) : null;
      if (rest) kept.push(rest);
      return { parts: kept, cut: true };
    }
    kept.push(part);
    left -= tokens;
  }
  return { parts: kept, cut: false };
};

const stoppedAt = (
  parts: readonly AnswerPart[],
  stopSequences: readonly string[],
): { parts: AnswerPart[]; stop: string } | null => {
  const last = parts.at(-1);
  if (last?.kind !== 'text') return null;
  const { text } = last;
  const found = stopSequences
    .map((stop) => ({ stop, index: text.indexOf(stop) }))
    .filter(({ index }) => index >= 0)
    .sort((a, b) => a.index - b.index)[0];
  if (!found) return null;
  return {
    parts: [...parts.slice(0, -1), { ...last, text: text.slice(0, found.index), citation: null }],
    stop: found.stop,
  };
};

/** The simulated model: the same answer for the same prompt. */
export const composeAnswer = (prompt: Prompt, wish: AnswerWish): Answer => {
  const visible = visibleParts(prompt, wish);
  let { parts, finish } = visible;
  let stopSequence: string | null = null;
  if (prompt.reasons && finish !== 'refusal') {
    const tokens = wish.reasoningTokens ?? countTokens(REASONING_TEXT);
    parts = [{ kind: 'reasoning', text: REASONING_TEXT, tokens }, ...parts];
  }
  const stopped = prompt.stopSequences.length > 0 ? stoppedAt(parts, prompt.stopSequences) : null;
  if (stopped) {
    parts = stopped.parts;
    finish = 'stop-sequence';
    stopSequence = stopped.stop;
  }
  if (prompt.maxTokens !== null) {
    const fitting = withinTokens(parts, prompt.maxTokens);
    if (fitting.cut) {
      parts = fitting.parts;
      finish = 'length';
      stopSequence = null;
    }
  }
  const reasoningTokens = parts[0]?.kind === 'reasoning' ? parts[0].tokens : 0;
  const cachedTokens = Math.min(wish.cachedTokens ?? 0, prompt.inputTokens);
  return {
    parts,
    finish,
    stopSequence,
    usage: {
      inputTokens: prompt.inputTokens,
      cachedTokens,
      cacheWriteTokens: Math.min(wish.cacheWriteTokens ?? 0, prompt.inputTokens - cachedTokens),
      outputTokens: parts.reduce((sum, part) => sum + tokensOf(part), 0),
      reasoningTokens,
    },
  };
};
