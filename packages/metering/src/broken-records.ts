/** A stored record that cannot be read. Its reader leaves it out and goes on. */
export interface BrokenRecord {
  readonly kind:
    | 'usage_record'
    | 'usage_sum'
    | 'spooled_usage'
    | 'reservation'
    | 'key'
    | 'team'
    | 'audit_entry';
  /** Where it can be found; never its content. */
  readonly id: string;
}

export type ReportBroken = (record: BrokenRecord) => void;

const MAX_REMEMBERED = 10_000;

/** Reports each broken record once, however often it is read. */
export function reportOnce(report: ReportBroken): ReportBroken {
  const reported = new Set<string>();
  return (record) => {
    const name = `${record.kind} ${record.id}`;
    if (reported.has(name) || reported.size >= MAX_REMEMBERED) return;
    reported.add(name);
    report(record);
  };
}

/** The value of a stored text; undefined, and reported, if it cannot be read. */
export function readStored<T>(
  text: string,
  parse: (text: string) => T,
  broken: BrokenRecord,
  report: ReportBroken,
): T | undefined {
  try {
    return parse(text);
  } catch {
    report(broken);
    return undefined;
  }
}
