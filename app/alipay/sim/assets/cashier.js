// Draws the countdown, and returns the buyer to the shop after the payment.
const left = document.getElementById("left");
if (left) {
  // The page has the remaining seconds by the server's clock; this machine's clock may be wrong.
  const ends = performance.now() + Number(left.dataset.left) * 1000;
  const draw = () => {
    const seconds = Math.max(0, Math.ceil((ends - performance.now()) / 1000));
    const rest = String(seconds % 60).padStart(2, "0");
    left.textContent = `${Math.floor(seconds / 60)}:${rest}`;
    if (seconds === 0) {
      clearInterval(timer);
      location.reload();
    }
  };
  const timer = setInterval(draw, 250);
  if (Number(left.dataset.left) > 0) draw();
  else clearInterval(timer);
}

const home = document.getElementById("home");
if (home?.dataset.soon) {
  setTimeout(() => location.assign(home.href), Number(home.dataset.soon) * 1000);
}
