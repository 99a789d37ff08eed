package sim

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// show returns the handler of a read.
func show(read func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, read()) }
}

func (s *Simulator) addFault(w http.ResponseWriter, r *http.Request) {
	var f Fault
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&f)
	if err == nil {
		f, err = s.Inject(f)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, f)
}

func (s *Simulator) dropFaults(w http.ResponseWriter, _ *http.Request) {
	s.RemoveFaults()
	w.WriteHeader(http.StatusNoContent)
}

func (s *Simulator) dropFault(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || !s.removeFault(id) {
		http.Error(w, "no such fault", http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// handleBuyerAction performs the action in the path as the buyer.
func (s *Simulator) handleBuyerAction(w http.ResponseWriter, r *http.Request) {
	order := r.PathValue("order")
	var err error
	switch action := r.PathValue("press"); action {
	case "late":
		err = s.PayLate(order)
	case "repeat":
		err = s.Repeat(order)
	default:
		err = s.performAction(action, order)
	}
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, errStatus):
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		http.Error(w, err.Error(), http.StatusNotFound)
	}
}

func (s *Simulator) performAction(action, order string) error {
	switch action {
	case "pay":
		return s.Pay(order)
	case "close":
		return s.Cancel(order)
	}
	return errors.New("unknown button: want pay or close")
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
