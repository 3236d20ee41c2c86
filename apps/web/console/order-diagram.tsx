interface Step {
  readonly from: string | null;
  readonly to: string;
}

const [TOP, BOTTOM, HEIGHT] = [10, 100, 30];
const [FIRST, SECOND, THIRD, FOURTH, WIDTH] = [5, 225, 405, 585, 130];

/** Where each status stands. */
const PLACES: Readonly<Record<string, readonly [number, number]>> = {
  pending_payment: [FIRST, TOP],
  closing: [FIRST, BOTTOM],
  paid: [SECOND, TOP],
  closed: [SECOND, BOTTOM],
  shipped: [THIRD, TOP],
  canceled: [THIRD, BOTTOM],
  completed: [FOURTH, TOP],
};

/** All ways there are, and how each is drawn; back to paid goes money that came late. */
const WAYS: Readonly<Record<string, string>> = {
  'pending_payment paid': `M${FIRST + WIDTH} 25H${SECOND}`,
  'pending_payment closed': `M${FIRST + WIDTH} 34L${SECOND} 104`,
  'pending_payment closing': `M${FIRST + 65} 40V${BOTTOM}`,
  'closing paid': `M${FIRST + WIDTH} 104L${SECOND} 34`,
  'closing closed': `M${FIRST + WIDTH} 117H${SECOND}`,
  'closed paid': `M${SECOND + 65} ${BOTTOM}V40`,
  'paid shipped': `M${SECOND + WIDTH} 25H${THIRD}`,
  'paid canceled': `M${SECOND + WIDTH} 34L${THIRD} 104`,
  'shipped completed': `M${THIRD + WIDTH} 25H${FOURTH}`,
};

/** The states of an order, and the way that this one took; the same as a list for who cannot see it. */
export function OrderDiagram({ status, history }: { status: string; history: readonly Step[] }) {
  const steps = history.filter(({ from, to }) => from !== to);
  const taken = new Set(steps.map(({ from, to }) => `${from ?? ''} ${to}`));
  const visited = new Set(['pending_payment', ...steps.map(({ to }) => to)]);
  return (
    <>
      <div class="scroll" tabIndex={0}>
        <svg class="diagram" viewBox="0 0 720 140" aria-hidden="true">
          <defs>
            <marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" orient="auto">
              <path d="M0 0L8 4L0 8z" />
            </marker>
          </defs>
          {Object.entries(WAYS).map(([way, line]) => (
            <path
              key={way}
              d={line}
              class={taken.has(way) ? 'taken' : ''}
              marker-end="url(#arrow)"
            />
          ))}
          {Object.entries(PLACES).map(([name, [x, y]]) => (
            <g key={name} class={name === status ? 'current' : visited.has(name) ? 'taken' : ''}>
              <rect x={x} y={y} width={WIDTH} height={HEIGHT} rx="6" />
              <text x={x + WIDTH / 2} y={y + 19}>
                {name}
              </text>
            </g>
          ))}
        </svg>
      </div>
      <ol class="heard" aria-label="The way it took">
        {[...visited].map((step) => (
          <li key={step} aria-current={step === status ? 'step' : undefined}>
            {step}
          </li>
        ))}
      </ol>
    </>
  );
}
