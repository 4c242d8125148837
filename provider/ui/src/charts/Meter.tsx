/** A thin bar: the share that `value` has of `most`, and within it the part that is `bad`. */
export function Meter({ value, most, bad = 0, label }: {
  value: number | null;
  most: number;
  bad?: number | null;
  label: string;
}) {
  const share = value === null || most <= 0 ? 0 : Math.min(1, value / most);
  const badly = value === null || value <= 0 ? 0 : Math.min(1, (bad ?? 0) / value) * share;
  return (
    <svg viewBox="0 0 100 4" className="pt-meter" role="img" aria-label={label} preserveAspectRatio="none">
      <rect width="100" height="4" className="pt-track" />
      <rect width={share * 100} height="4" className="pt-meter-bar" />
      {badly > 0 ? <rect width={badly * 100} height="4" className="pt-meter-bad" /> : null}
    </svg>
  );
}
