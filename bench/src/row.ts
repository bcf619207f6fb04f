import type { Rounds } from './compared.ts';
import type { Contender } from './contender.ts';
import type { LoadGenerator } from './load.ts';

export interface Bench {
  readonly generator: LoadGenerator;
  readonly rounds: Rounds;
  readonly streams: number;
  readonly upstreamUrl: string;
  readonly portkey: Contender;
  readonly floor: Contender;
  /** The gateway in both ways of running. */
  readonly gateways: readonly Contender[];
  /** The same, by keys with limits and a budget. */
  readonly limited: readonly Contender[];
}

/** One figure of one contender. */
export interface Figure {
  readonly value: number;
  /** By process, where the figure is a sum over them. */
  readonly parts?: ReadonlyMap<string, number>;
  /** What a reader should know beside the figure. */
  readonly note?: string;
}
export type Figures = ReadonlyMap<string, Figure>;

export interface Row {
  /** For `--only`. */
  readonly id: string;
  readonly what: string;
  readonly unit: 'µs' | 'ms' | 'KB' | 'MB' | '/s' | '×';
  measure(bench: Bench): Promise<Figures>;
}

export const everybody = ({ portkey, floor, gateways, limited }: Bench) => [
  portkey,
  floor,
  ...gateways,
  ...limited,
];
export const withoutLimits = ({ portkey, floor, gateways }: Bench) => [portkey, floor, ...gateways];
export const gatewaysOnly = ({ gateways }: Bench) => gateways;

/** A figure of each contender, measured one after the other. */
export async function eachOf(
  contenders: readonly Contender[],
  figureOf: (contender: Contender) => Promise<Figure>,
): Promise<Figures> {
  const figures = new Map<string, Figure>();
  for (const contender of contenders) figures.set(contender.name, await figureOf(contender));
  return figures;
}
