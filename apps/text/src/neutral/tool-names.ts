import { createHash } from 'node:crypto';
import type { KnownCall, NamedTool } from './tool.ts';

/** A tool as the caller knows it, where the upstream knows it differently. */
export interface CallerTool {
  readonly name: string;
  readonly namespace?: string | undefined;
  /** The caller gave a free-text tool; the upstream sees a function with one text input. */
  readonly custom: boolean;
  /** The caller gets the calls as items. */
  readonly known?: KnownCall | undefined;
}

const HASH_LENGTH = 8;

/**
 * Names that an upstream takes: letters, digits, `_` and `-`, of bounded length. Others are shortened to a prefix and
 * a hash, the same way each time, so that history and definitions agree; a namespace is put in front.
 */
export class ToolNames {
  readonly #maxLength: number;
  readonly #beginsWithLetter: boolean;
  /** What to restore in the reply: upstream name → the caller's tool. Holds only tools that are shown differently. */
  readonly renamed = new Map<string, CallerTool>();

  /** @param beginsWithLetter whether a name must begin with a letter or `_` */
  constructor(maxLength: number, { beginsWithLetter = false } = {}) {
    this.#maxLength = maxLength;
    this.#beginsWithLetter = beginsWithLetter;
  }

  upstreamName({ name, namespace }: Pick<NamedTool, 'name' | 'namespace'>): string {
    const full = namespace === undefined ? name : `${namespace}__${name}`;
    const lettered = full.replace(/[^a-zA-Z0-9_-]/g, '_');
    const clean = this.#beginsWithLetter && !/^[a-zA-Z_]/.test(lettered) ? `_${lettered}` : lettered;
    if (clean === full && full.length <= this.#maxLength) return full;
    const hash = createHash('sha256').update(full).digest('hex').slice(0, HASH_LENGTH);
    return `${clean.slice(0, this.#maxLength - HASH_LENGTH - 1)}_${hash}`;
  }

  /** The upstream's name of a tool that the model may call; remembers how to restore it. */
  define(
    tool: Pick<NamedTool, 'name' | 'namespace'> & Pick<CallerTool, 'known'>,
    emulatedCustom: boolean,
  ): string {
    const upstreamName = this.upstreamName(tool);
    const { name, namespace, known } = tool;
    if (upstreamName !== name || emulatedCustom || known !== undefined) {
      this.renamed.set(upstreamName, { name, namespace, custom: emulatedCustom, known });
    }
    return upstreamName;
  }
}
