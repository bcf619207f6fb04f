/** One piece of a turn. Texts are other people's: they are shown as texts only. */
export interface Piece {
  readonly kind: 'text' | 'reasoning' | 'call' | 'result' | 'other';
  /** The tool, or the type of what is no text. */
  readonly name: string | null;
  readonly text: string;
}

export interface Turn {
  readonly role: string;
  readonly pieces: readonly Piece[];
}

type Members = Readonly<Record<string, unknown>>;

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const membersOf = (value: unknown): Members => (isMembers(value) ? value : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** JSON as people read it; a text that holds JSON, too. */
export function pretty(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2) ?? '';
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === 'object' && parsed !== null ? JSON.stringify(parsed, null, 2) : value;
  } catch {
    return value;
  }
}

const piece = (kind: Piece['kind'], text: string, name: string | null = null): Piece => ({
  kind,
  text,
  name,
});
const other = (value: Members): Piece => piece('other', pretty(value), textOf(value.type) || 'other');

/** What parts of all three protocols are, by their types. */
const PARTS: Readonly<Record<string, (part: Members) => Piece>> = {
  text: ({ text }) => piece('text', textOf(text)),
  input_text: ({ text }) => piece('text', textOf(text)),
  output_text: ({ text }) => piece('text', textOf(text)),
  input_audio: (part) => spokenPiece(part),
  output_audio: (part) => spokenPiece(part),
  summary_text: ({ text }) => piece('reasoning', textOf(text)),
  reasoning_text: ({ text }) => piece('reasoning', textOf(text)),
  refusal: ({ refusal }) => piece('text', textOf(refusal), 'refusal'),
  thinking: ({ thinking }) => piece('reasoning', textOf(thinking)),
  tool_use: ({ name, input }) => piece('call', pretty(input), textOf(name)),
  tool_result: ({ tool_use_id: id, content }) => piece('result', resultText(content), textOf(id)),
};

/** What was said, by its transcript where there is one. */
const spokenPiece = (part: Members): Piece =>
  typeof part.transcript === 'string' ? piece('text', part.transcript) : other(part);

function resultText(content: unknown): string {
  const texts = piecesOf(content);
  return texts.map(({ text }) => pretty(text)).join('\n');
}

function piecesOf(content: unknown): Piece[] {
  if (typeof content === 'string') return content === '' ? [] : [piece('text', content)];
  return listOf(content).map((part) => {
    const members = membersOf(part);
    return PARTS[textOf(members.type)]?.(members) ?? other(members);
  });
}

function chatTurn(message: Members): Turn {
  const { role, content, tool_calls: calls, tool_call_id: id, refusal } = message;
  if (role === 'tool') return { role: 'tool', pieces: [piece('result', resultText(content), textOf(id))] };
  const reasoning = textOf(message.reasoning_content) || textOf(message.reasoning);
  const pieces = [
    ...(reasoning === '' ? [] : [piece('reasoning', reasoning)]),
    ...piecesOf(content),
    ...(textOf(refusal) === '' ? [] : [piece('text', textOf(refusal), 'refusal')]),
    ...listOf(calls).map((call) => {
      const { function: called, custom } = membersOf(call);
      const { name, arguments: text, input } = membersOf(called ?? custom);
      return piece('call', pretty(text ?? input), textOf(name));
    }),
  ];
  return { role: textOf(role) || 'user', pieces };
}

const ITEMS: Readonly<Record<string, (item: Members) => Turn>> = {
  reasoning: ({ summary, content }) => ({
    role: 'assistant',
    pieces: [...piecesOf(summary), ...piecesOf(content)],
  }),
  function_call: ({ name, arguments: text }) => ({
    role: 'assistant',
    pieces: [piece('call', pretty(text), textOf(name))],
  }),
  custom_tool_call: ({ name, input }) => ({
    role: 'assistant',
    pieces: [piece('call', pretty(input), textOf(name))],
  }),
  function_call_output: ({ call_id: id, output }) => ({
    role: 'tool',
    pieces: [piece('result', resultText(output), textOf(id))],
  }),
  custom_tool_call_output: ({ call_id: id, output }) => ({
    role: 'tool',
    pieces: [piece('result', resultText(output), textOf(id))],
  }),
};

function itemTurn(value: unknown): Turn {
  const item = membersOf(value);
  const { type, role, content } = item;
  if (type === 'message' || (type === undefined && role !== undefined))
    return { role: textOf(role) || 'user', pieces: piecesOf(content) };
  return ITEMS[textOf(type)]?.(item) ?? { role: 'assistant', pieces: [other(item)] };
}

const plainTurn = (message: unknown): Turn => {
  const { role, content } = membersOf(message);
  return { role: textOf(role) || 'user', pieces: piecesOf(content) };
};

const systemTurn = (content: unknown): Turn[] => {
  const pieces = piecesOf(content);
  return pieces.length === 0 ? [] : [{ role: 'system', pieces }];
};

interface Reader {
  readonly asked: (request: Members) => Turn[];
  readonly answered: (answer: Members) => Turn[];
}

/** Instructions and items, and items. */
const OF_ITEMS: Reader = {
  asked: ({ instructions, input }) => [
    ...systemTurn(instructions),
    ...(typeof input === 'string'
      ? [{ role: 'user', pieces: piecesOf(input) }]
      : listOf(input).map(itemTurn)),
  ],
  answered: ({ output }) => listOf(output).map(itemTurn),
};

/** The turns of a request, and those of its answer, by its protocol; null for one of another form. */
const READERS: Readonly<Record<string, Reader>> = {
  chat: {
    asked: ({ messages }) => listOf(messages).map((message) => chatTurn(membersOf(message))),
    answered: ({ choices }) =>
      listOf(choices).map((choice) => chatTurn(membersOf(membersOf(choice).message))),
  },
  messages: {
    asked: ({ system, messages }) => [...systemTurn(system), ...listOf(messages).map(plainTurn)],
    answered: ({ content }) => [{ role: 'assistant', pieces: piecesOf(content) }],
  },
  responses: OF_ITEMS,
  realtime: OF_ITEMS,
};

const isShown = ({ pieces }: Turn): boolean => pieces.length > 0;

export interface ReadTurns {
  readonly asked: readonly Turn[];
  readonly answered: readonly Turn[];
}

const isSame = (a: Turn | undefined, b: Turn | undefined): boolean => JSON.stringify(a) === JSON.stringify(b);

/**
 * What a request adds to the earlier ones of its conversation. A request that repeats an earlier one goes on with its answer; one that
 * continues it by an id repeats at most its instructions.
 */
export function withoutRepeated(
  asked: readonly Turn[],
  earlier: readonly (ReadTurns | null)[],
): readonly Turn[] {
  let repeated = 0;
  for (const one of earlier) {
    if (one === null) continue;
    const { length } = one.asked;
    const isRepeated =
      asked[length]?.role === 'assistant' && one.asked.every((turn, at) => isSame(turn, asked[at]));
    if (!isRepeated) continue;
    // The answer that follows may be written in another way than it was given.
    const answer = asked.slice(length).findIndex(({ role }) => role !== 'assistant');
    repeated = Math.max(repeated, answer < 0 ? asked.length : length + answer);
  }
  if (repeated > 0) return asked.slice(repeated);
  const [first] = asked;
  const isKnown = first?.role === 'system' && earlier.some((one) => isSame(one?.asked[0], first));
  return isKnown ? asked.slice(1) : asked;
}

/** A logged request as a conversation; null where its form is not known. */
export function turnsOf({
  endpoint,
  request,
  answer,
}: {
  readonly endpoint: string;
  readonly request?: unknown;
  readonly answer?: unknown;
}): ReadTurns | null {
  const reader = READERS[endpoint];
  if (reader === undefined || !isMembers(request)) return null;
  return {
    asked: reader.asked(request).filter(isShown),
    answered: isMembers(answer) ? reader.answered(answer).filter(isShown) : [],
  };
}
