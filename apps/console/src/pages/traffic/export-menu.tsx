import { Button, Menu } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { BASE_PATH } from '../../api/base-path.ts';
import { timeZone } from '../../parts/time-zone.ts';
import { requestFilterOf } from '../requests/requests-query.ts';
import type { RequestFilter } from './request-filter.ts';
import { type Range, spanOf } from './time-range.ts';
import { instant } from './usage-query.ts';

interface ExportMenuProps {
  /** The view whose requests are exported. */
  readonly of: RequestFilter & Range & { readonly id?: string | undefined };
  /** Downloads the table that is shown, if it is not one of requests. */
  readonly onTable?: () => void;
}

const FORMATS = { csv: 'CSV', ndjson: 'NDJSON' } as const;

/** Downloads what a page shows: its table, and every request behind it. */
export function ExportMenu({ of: view, onTable }: ExportMenuProps) {
  const { fromMs, toMs } = spanOf(view, '30d', Date.now(), timeZone());
  const linkOf = (format: string): string => {
    const query = { format, from: instant(fromMs), to: instant(toMs), ...requestFilterOf(view) };
    return `${BASE_PATH}/admin/v1/usage/records?${new URLSearchParams(query)}`;
  };
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <Button variant="default" size="xs" leftSection={<IconDownload size={14} aria-hidden />}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {onTable && (
          <>
            <Menu.Label>This table</Menu.Label>
            <Menu.Item onClick={onTable}>Table as CSV</Menu.Item>
          </>
        )}
        <Menu.Label>Every request in this view, one per line</Menu.Label>
        {Object.entries(FORMATS).map(([format, label]) => (
          <Menu.Item key={format} component="a" href={linkOf(format)} download={`usage.${format}`}>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
