/** How a language writes values. */
interface Notation {
  readonly null: string;
  readonly true: string;
  readonly false: string;
  readonly indent: string;
  /** Between a brace and what stands in it. */
  readonly space: string;
  member(name: string, value: string): string;
}

const NAME = /^[A-Za-z_$][\w$]*$/;
/** A list or an object that is not longer stands in one line. */
const MAX_LINE = 60;

const PYTHON: Notation = {
  null: 'None',
  true: 'True',
  false: 'False',
  indent: '    ',
  space: '',
  member: (name, value) => `${JSON.stringify(name)}: ${value}`,
};

const TYPESCRIPT: Notation = {
  null: 'null',
  true: 'true',
  false: 'false',
  indent: '  ',
  space: ' ',
  member: (name, value) => `${NAME.test(name) ? name : JSON.stringify(name)}: ${value}`,
};

function literal(value: unknown, notation: Notation, indent: string): string {
  if (value === null || value === undefined) return notation.null;
  if (typeof value === 'boolean') return value ? notation.true : notation.false;
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = indent + notation.indent;
  const [open, close, space] = Array.isArray(value) ? ['[', ']', ''] : ['{', '}', notation.space];
  const parts = Array.isArray(value)
    ? value.map((one) => literal(one, notation, inner))
    : Object.entries(value).map(([name, one]) => notation.member(name, literal(one, notation, inner)));
  if (parts.length === 0) return `${open}${close}`;
  const line = `${open}${space}${parts.join(', ')}${space}${close}`;
  if (line.length <= MAX_LINE && !line.includes('\n')) return line;
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close}`;
}

/** A value of JSON in Python. */
export const python = (value: unknown, indent = ''): string => literal(value, PYTHON, indent);

/** A value of JSON in TypeScript. */
export const typeScript = (value: unknown, indent = ''): string => literal(value, TYPESCRIPT, indent);

/** A text as one word of a shell. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Pictures, and what a provider has sealed. */
const DATA = /^(data:[^,]{1,100},)?[A-Za-z0-9+/=_-]{200,}$/;
const SHOWN_OF_DATA = 24;

/** The same value, with what is encoded shortened: code with megabytes is of no use to a reader. */
export function shortened(value: unknown): unknown {
  if (typeof value === 'string') {
    const found = DATA.exec(value);
    return found === null ? value : `${value.slice(0, (found[1] ?? '').length + SHOWN_OF_DATA)}…`;
  }
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]));
}
