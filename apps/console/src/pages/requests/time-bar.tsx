import { Text } from '@mantine/core';
import type { ShownRequest } from '../../api/types.ts';
import { milliseconds, percent } from '../../parts/numbers.ts';
import classes from './time-bar.module.css';
import { timeParts } from './time-parts.ts';

/** A bar of where a request's time went, with its figures. */
export function TimeBar({ of: request }: { of: ShownRequest }) {
  const { totalMs } = request.timing;
  const parts = timeParts(request);
  const colorOf = (color: string): string => `var(--mantine-color-${color}-6)`;
  return (
    <div>
      <div className={classes.bar} aria-hidden>
        {parts.map(({ name, color, ms }) => (
          <div key={name} style={{ flexGrow: ms, backgroundColor: colorOf(color) }} />
        ))}
      </div>
      <ul className={classes.parts} aria-label="Time breakdown">
        {parts.map(({ name, color, about, ms }) => (
          <li key={name} className={classes.part}>
            <span className={classes.mark} style={{ backgroundColor: colorOf(color) }} aria-hidden />
            <Text size="sm" span>
              {name}{' '}
              <Text size="xs" c="dimmed" span>
                {about}
              </Text>
            </Text>
            <Text size="sm" span className={classes.figure}>
              {milliseconds(ms)}{' '}
              <Text size="xs" c="dimmed" span>
                {percent(totalMs === 0 ? 0 : ms / totalMs)}
              </Text>
            </Text>
          </li>
        ))}
        <li className={classes.part}>
          <span />
          <Text size="sm" fw={600} span>
            Total
          </Text>
          <Text size="sm" fw={600} span className={classes.figure}>
            {milliseconds(totalMs)}
          </Text>
        </li>
      </ul>
    </div>
  );
}
