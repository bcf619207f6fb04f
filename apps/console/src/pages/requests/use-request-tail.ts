import { useEffect, useState } from 'react';
import { BASE_PATH } from '../../api/base-path.ts';
import type { ShownRequest } from '../../api/types.ts';

export interface RequestTail {
  /** Requests that ended since the tail was opened, the newest first. */
  readonly rows: readonly ShownRequest[];
  /** Of those, the ones that are held back while the person reads further down. */
  readonly held: readonly ShownRequest[];
  /** How many at least were left out, because there were too many. */
  readonly skipped: number;
  readonly state: 'connecting' | 'open' | 'failed';
  showHeld(): void;
}

interface TailOptions {
  readonly isOn: boolean;
  /** The filter as a query. */
  readonly query: string;
  /** The tail begins, for the first time or after it broke: what ended before is not in it. */
  readonly onOpen: () => void;
}

type Arrived = Pick<RequestTail, 'rows' | 'held' | 'skipped'>;

const NOTHING: Arrived = { rows: [], held: [], skipped: 0 };
/** Hundreds may arrive in a second: the page is drawn for all of them at once. */
const DRAW_EVERY_MS = 250;
const MAX_ROWS = 5_000;
/** A person who has scrolled further than this reads, and rows must not move. */
const AT_TOP_PX = 120;

/** The requests that a filter selects, as they end. */
export function useRequestTail({ isOn, query, onOpen }: TailOptions): RequestTail {
  const [arrived, setArrived] = useState(NOTHING);
  const [state, setState] = useState<RequestTail['state']>('connecting');

  useEffect(() => {
    setArrived(NOTHING);
    setState('connecting');
    if (!isOn) return;
    const source = new EventSource(`${BASE_PATH}/admin/v1/requests/tail?${query}`);
    let pending: ShownRequest[] = [];
    let skipped = 0;
    source.addEventListener('open', () => {
      setState('open');
      onOpen();
    });
    source.addEventListener('error', () =>
      setState(source.readyState === EventSource.CLOSED ? 'failed' : 'connecting'),
    );
    source.addEventListener('request', ({ data }) => pending.unshift(JSON.parse(data)));
    source.addEventListener('skipped', ({ data }) => {
      const { count }: { count: number } = JSON.parse(data);
      skipped += count;
    });
    const timer = setInterval(() => {
      if (pending.length === 0 && skipped === 0) return;
      const [rows, left] = [pending, skipped];
      pending = [];
      skipped = 0;
      setArrived((before) => added(before, rows, left));
    }, DRAW_EVERY_MS);
    return () => {
      source.close();
      clearInterval(timer);
    };
  }, [isOn, query, onOpen]);

  const showHeld = (): void => {
    window.scrollTo({ top: 0 });
    setArrived(({ rows, held, ...rest }) => ({ ...rest, held: [], rows: [...held, ...rows] }));
  };
  return { ...arrived, state, showHeld };
}

function added(before: Arrived, rows: readonly ShownRequest[], left: number): Arrived {
  const into = window.scrollY > AT_TOP_PX ? 'held' : 'rows';
  const skipped = before.skipped + left;
  return { ...before, skipped, [into]: [...rows, ...before[into]].slice(0, MAX_ROWS) };
}
